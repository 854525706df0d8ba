from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kwis_paper.datasets import load
from kwis_paper.estimates import SHARED
from kwis_paper.grid import dataset_cells
from kwis_paper.paper_intervals import drawn_counts, fixed_intervals
from kwis_paper.simulate import Laboratory
from kwis_paper.stages import SHARED_KIND, Sums, estimate
from kwis_paper.store import LEVELS


def test_ends_are_those_of_a_bootstrap_drawn_row_by_row() -> None:
    """Slow twin: the same resamples, one by one, and numpy's own percentiles."""
    rng = np.random.default_rng(0)
    terms = rng.exponential(size=(40, 3))
    counts = drawn_counts(40, np.random.default_rng(1), 60)
    assert (counts.sum(axis=1) == 40).all()
    found = fixed_intervals(terms, counts, LEVELS)["fixed-percentile"]
    for column in range(3):
        means = [np.repeat(terms[:, column], row.astype(int)).mean() for row in counts]
        for place, level in enumerate(LEVELS):
            ends = np.percentile(means, [50 * (1 - level), 50 * (1 + level)])
            assert found[place, :, column] == pytest.approx(ends)


def test_bca_agrees_with_scipy_up_to_resampling() -> None:
    terms = np.random.default_rng(2).exponential(size=(60, 1))
    counts = drawn_counts(60, np.random.default_rng(3), 20_000)
    ours = fixed_intervals(terms, counts, (0.9,))["fixed-bca"][0, :, 0]
    theirs = stats.bootstrap(
        (terms[:, 0],), np.mean, confidence_level=0.9, n_resamples=20_000, method="BCa", random_state=4
    ).confidence_interval
    assert ours == pytest.approx([theirs.low, theirs.high], abs=0.01)


def test_the_normaliser_is_not_resampled() -> None:
    """What is wrong with them: with every reward 1, WIS is 1 whatever the rows, and these are not."""
    weight = np.random.default_rng(5).exponential(size=(200, 1))
    terms = weight / weight.mean(axis=0)
    low, high = fixed_intervals(terms, drawn_counts(200, np.random.default_rng(6)), (0.95,))[
        "fixed-percentile"
    ][0, :, 0]
    assert low < 0.95
    assert high > 1.05


def test_the_terms_of_a_cell_average_to_its_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []

    def keep(terms: np.ndarray, counts: np.ndarray, levels: tuple[float, ...]) -> dict[str, np.ndarray]:
        seen.append(terms)
        return fixed_intervals(terms, counts, levels)

    monkeypatch.setattr("kwis_paper.stages.fixed_intervals", keep)
    laboratory = Laboratory(load("digits"))
    cell = next(iter(dataset_cells("digits", laboratory.dataset.faulty, ["non-oracle"])))
    experiment = laboratory.experiment(cell)
    sums = Sums(laboratory.test_context)
    found = estimate(experiment, ("wis", *SHARED), sums, {SHARED_KIND: 3.0}, (), laboratory.resamples)
    wis, kernel = seen
    assert np.allclose(wis.mean(axis=0), found.estimates["wis"].value)
    assert np.allclose(kernel.mean(axis=0), found.estimates["kernel-wis"].value)
    assert {(name, method) for name, method, _ in found.intervals} == {
        (name, method) for name in ("wis", "kernel-wis") for method in ("fixed-percentile", "fixed-bca")
    }


def test_the_library_knows_nothing_of_them() -> None:
    import kwis

    sources = Path(kwis.__file__).parent.rglob("*.py")
    assert not [path for path in sources if "fixed_intervals" in path.read_text(encoding="utf-8")]
