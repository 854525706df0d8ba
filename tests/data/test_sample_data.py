"""The sample log is what it claims to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kwis.data.read.read_log import read_log
from kwis.data.sample_log import ACTIONS, CONTEXT, TARGETS, sample_log
from kwis.errors import InputError


def test_the_same_seed_gives_the_same_log() -> None:
    one, two, other = sample_log(300, rng=5), sample_log(300, rng=5), sample_log(300, rng=6)
    for name in one.table:
        assert one.table[name].tolist() == two.table[name].tolist() or np.array_equal(
            one.table[name], two.table[name], equal_nan=True
        )
    assert one.table["revenue"].tolist() != other.table["revenue"].tolist()


def test_the_context_is_mixed_and_has_gaps() -> None:
    log = sample_log().read()
    kinds = {name: log.table.column(name).kind for name in CONTEXT}
    assert kinds == {
        "country": "text",
        "device": "text",
        "age": "number",
        "member": "boolean",
        "signup": "date",
        "hour": "number",
    }
    assert 0 < log.table.column("age").missing.mean() < 0.1
    assert 0 < log.table.column("device").missing.mean() < 0.1
    assert log.action_names == ACTIONS
    assert log.time is not None
    assert (np.diff(log.time[::200]) > 0).all()
    assert log.group is not None
    assert 1_000 < len(np.unique(log.group)) < 1_400


def test_policies_are_distributions_and_agree_with_their_column() -> None:
    table = sample_log(500).table
    chosen = np.array([ACTIONS.index(action) for action in table["action"]])
    for name in TARGETS:
        whole = np.column_stack([table[f"{name}_{action}"] for action in ACTIONS])
        np.testing.assert_allclose(whole.sum(axis=1), 1)
        np.testing.assert_array_equal(whole[np.arange(500), chosen], table[name])


def test_values_estimated_with_right_propensities_are_the_truth() -> None:
    """Importance sampling with the true propensities is unbiased; twelve logs give its error,
    groups and all.
    """
    errors = []
    for seed in range(12):
        sample = sample_log(20_000, rng=seed, right_propensities=True)
        table = sample.table
        row = [table[reward].mean() - sample.truth["logger"][reward] for reward in ("click", "revenue")]
        for name in TARGETS:
            weight = table[name] / table["propensity"]
            row += [
                (weight * table[reward]).mean() - sample.truth[name][reward]
                for reward in ("click", "revenue")
            ]
        errors.append(row)
    z = np.mean(errors, axis=0) / (np.std(errors, axis=0, ddof=1) / np.sqrt(12))
    assert np.abs(z).max() < 4  # t with 11 degrees of freedom; the six are strongly correlated


def test_propensities_are_wrong_in_brazil_and_right_elsewhere() -> None:
    wrong, right = sample_log(40_000, rng=3), sample_log(40_000, rng=3, right_propensities=True)
    brazil = wrong.table["country"] == "BR"
    assert wrong.wrong_where == ("country", "BR")
    assert right.wrong_where is None
    np.testing.assert_array_equal(wrong.table["propensity"][~brazil], right.table["propensity"][~brazil])
    assert (wrong.table["propensity"][brazil] != right.table["propensity"][brazil]).all()
    for sample, expected in ((wrong, 1.27), (right, 1.0)):
        weight = (sample.table["p_new"] / sample.table["propensity"])[brazil]
        assert weight.mean() == pytest.approx(expected, abs=4 * weight.std() / np.sqrt(brazil.sum()))
    assert wrong.truth == right.truth
    assert wrong.truth["logger"]["click"] < wrong.truth["p_new"]["click"] < wrong.truth["p_bold"]["click"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_written_sample_reads_back_the_same(suffix: str, tmp_path: Path) -> None:
    sample = sample_log(200)
    log, back = sample.read(), read_log(sample.write(tmp_path / f"log{suffix}"), **sample.arguments)
    for name in ("action", "reward", "propensity", "context", "group", "time"):
        np.testing.assert_allclose(getattr(back, name), getattr(log, name), rtol=0, atol=1e-12)


def test_a_sample_is_written_where_it_can_be_and_nowhere_else(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^`path` must end with \.csv or \.parquet, got 'log\.xlsx'$"):
        sample_log(50).write("log.xlsx")
    with pytest.raises(
        InputError, match=r"^`path` must be in a folder that exists, got '.*nowhere/log\.csv' and there is no"
    ):
        sample_log(50).write(tmp_path / "nowhere" / "log.csv")


def test_it_is_shown_in_a_line():
    shown = repr(sample_log(100, rng=1))
    assert shown.startswith("SampleLog: 100 decisions, columns time, user, country")
    assert len(shown) < 300
