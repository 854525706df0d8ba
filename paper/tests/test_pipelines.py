from __future__ import annotations

import io
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import kwis
from kwis import DirectMethod, DoublyRobust, KernelWIS, PredictedSample, WeightedSample
from kwis.bandwidth.shrunk import select_shrunk
from kwis.estimators.joint import model_error
from kwis.estimators.registry import further_by_name
from kwis.evaluation.recommend import has_heavy_weights
from kwis.models.propensity.repair import fit_repair
from kwis.models.propensity.repair_logged import fit_repair_logged
from kwis_paper import archive
from kwis_paper.beyond import rule
from kwis_paper.beyond.averaged import held_out_errors, shares
from kwis_paper.beyond.columns import (
    ABLATION_COLUMNS,
    AVERAGED,
    BANDWIDTH_COLUMNS,
    CRITERIA,
    KERNEL_COLUMNS,
    MAIN_COLUMNS,
    PARTS,
    PIPELINES,
    REPAIRS,
    WEIGHTED,
)
from kwis_paper.beyond.criteria import choose_bandwidth, usual_grid
from kwis_paper.beyond.intervals import intervals_of, student
from kwis_paper.beyond.measures import Smoothness, divergence, nearest_rows
from kwis_paper.beyond.pipelines import Bandwidths, Bench, ablation, clipped_pipelines, main_pipelines
from kwis_paper.beyond.runner import run_pipelines
from kwis_paper.beyond.workshop import Pair, Workshop
from kwis_paper.datasets import load
from kwis_paper.grid import Cell, dataset_cells
from kwis_paper.pairs import Pairs
from kwis_paper.paper_intervals import METHODS
from kwis_paper.policies import Gibbs
from kwis_paper.runner import Task, run
from kwis_paper.sample import whole_pairs
from kwis_paper.simulate import Laboratory
from kwis_paper.store import Store

_TABLES = ("cells", "bandwidths", "estimates", "intervals", "measures")
_MEASURES = {"picked", "isolation", "misfit", "misfit-repaired", "repair", "explained", "smoothness"}
_SET = 3  # the test set that estimates are worked out on again


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small classification table with three classes."""
    path = tmp_path_factory.mktemp("table") / "my.csv"
    x = np.random.default_rng(0).standard_normal((240, 2))
    lines = ["a,b,y", *(f"{a:.6f},{b:.6f},{'left' if a < 0 else 'right' if b < 0 else 'up'}" for a, b in x)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def workshop(table: Path) -> Workshop:
    return Workshop(Laboratory(load(str(table), label="y")))


@pytest.fixture(scope="module")
def cell(workshop: Workshop) -> Cell:
    """A cell whose log takes a sure policy for the less sure one that logged, which 180 rows are enough to
    notice.
    """
    return _cell(workshop, Gibbs((), 0.5), Gibbs((0,), 0.3))


def _cell(workshop: Workshop, logging: Gibbs, behaviour: Gibbs) -> Cell:
    """The first cell of these whose policy is a Gibbs policy."""
    data = workshop.laboratory.dataset
    return next(
        one
        for one in dataset_cells(data.name, data.faulty, ["non-oracle"])
        if (one.logging, one.behaviour) == (logging, behaviour) and one.policy_type == "Gibbs"
    )


def _samples(workshop: Workshop, cell: Cell, behaviour: np.ndarray, of_set: int = _SET) -> PredictedSample:
    """One test set as the public estimators see it."""
    laboratory = workshop.laboratory
    rows, log = laboratory.rows[1], laboratory.log(cell.logging, of_set)
    evaluation = laboratory.probabilities(cell.evaluation)[rows]
    number = np.arange(rows.size)
    expected = workshop.rewards(cell.logging).test
    sample = WeightedSample(
        context=laboratory.test_context,
        weight=evaluation[number, log.action] / behaviour[number, log.action],
        reward=log.reward,
    )
    return PredictedSample(
        sample, predicted=expected[number, log.action], predicted_value=(evaluation * expected).sum(axis=1)
    )


@pytest.mark.parametrize("bandwidth", [0.7, np.inf])
def test_every_pipeline_is_the_public_estimator_on_each_test_set(
    workshop: Workshop, cell: Cell, bandwidth: float
) -> None:
    laboratory, repaired = workshop.laboratory, workshop.repair(Pair.of(cell))
    found = main_pipelines(
        workshop, cell, Pairs(laboratory.test_context), Bandwidths(given=bandwidth, repaired=2.0)
    )
    rows = laboratory.rows[1]
    assert not repaired.kept
    cases = {
        "": (laboratory.probabilities(cell.behaviour)[rows], bandwidth),
        "repaired-": (repaired.test, 2.0),
    }
    for prefix, (behaviour, h) in cases.items():
        sample = _samples(workshop, cell, behaviour)
        plain, ratio = KernelWIS(h), KernelWIS(h, normalised=True)
        for estimator in (
            kwis.WIS(),
            plain,
            ratio,
            DoublyRobust(),
            DoublyRobust(kwis.WIS()),
            DoublyRobust(ratio),
        ):
            one, public = found[f"{prefix}{estimator.name}"], estimator.estimate(sample)
            assert one.value[_SET - 1] == pytest.approx(public.value, rel=1e-10), (prefix, estimator.name)
            assert np.allclose(one.influence[:, _SET - 1], public.influence, rtol=1e-8, atol=1e-10), (
                prefix,
                estimator.name,
            )
            if "normalised" in estimator.name:
                assert one.isolation is not None
                assert one.isolation[_SET - 1] == pytest.approx(public.isolation, rel=1e-10), (
                    prefix,
                    estimator.name,
                )
    truth = _samples(workshop, cell, laboratory.probabilities(cell.logging)[rows])
    assert found["oracle-wis"].value[_SET - 1] == pytest.approx(kwis.WIS().estimate(truth).value)
    assert found["direct-method"].value[_SET - 1] == pytest.approx(DirectMethod().estimate(truth).value)


def test_intervals_are_those_of_the_public_method(workshop: Workshop, cell: Cell) -> None:
    laboratory = workshop.laboratory
    found = main_pipelines(
        workshop, cell, Pairs(laboratory.test_context), Bandwidths(given=0.7, repaired=2.0)
    )
    sample = _samples(workshop, cell, laboratory.probabilities(cell.behaviour)[laboratory.rows[1]])
    reward = Bench.of(workshop, cell).reward
    cases = (
        (kwis.WIS(), None),
        (KernelWIS(0.7, normalised=True), found["wis"]),
        (DoublyRobust(), None),
        (DoublyRobust(kwis.WIS()), None),
    )
    for estimator, whole in cases:
        ends = student(found[estimator.name], reward, whole)
        public = kwis.StudentInterval().interval(estimator, sample, 0.95)
        assert ends[3, :, _SET - 1] == pytest.approx([public.low, public.high], rel=1e-9), estimator.name


def test_intervals_after_repair_have_its_error_added(workshop: Workshop, cell: Cell) -> None:
    laboratory, repaired = workshop.laboratory, workshop.repair(Pair.of(cell))
    found = main_pipelines(
        workshop, cell, Pairs(laboratory.test_context), Bandwidths(given=0.7, repaired=2.0)
    )
    bench, number = Bench.of(workshop, cell), _SET - 1
    kernel = KernelWIS(2.0, normalised=True)
    for estimator in (kwis.WIS(), DoublyRobust(kwis.WIS()), kernel, DoublyRobust(kernel)):
        one = found[f"repaired-{estimator.name}"]
        assert one.refits is not None
        base = _samples(workshop, cell, repaired.test)
        values = []
        for propensity in repaired.refits[:, :, number]:
            weight = bench.weight_from(np.repeat(propensity[:, None], bench.action.shape[1], axis=1))[
                :, number
            ]
            sample = WeightedSample(context=base.context, weight=weight, reward=base.reward)
            values.append(
                estimator.estimate(
                    PredictedSample(sample, predicted=base.predicted, predicted_value=base.predicted_value)
                ).value
            )
        np.testing.assert_allclose(one.refits[:, number], values, rtol=1e-10)
        error = float(model_error(np.array(values)[:, None])[0])
        public = kwis.StudentInterval(model_error=error).interval(estimator, base, 0.95)
        whole = found["repaired-wis"] if estimator is kernel else None
        assert student(one, bench.reward, whole)[3, :, number] == pytest.approx(
            [public.low, public.high], rel=1e-9
        ), estimator.name
    assert found["wis"].refits is None


def test_weights_are_clipped_on_the_test_sets_where_kwis_would_clip_them(workshop: Workshop) -> None:
    cell = _cell(workshop, Gibbs((), 0.3), Gibbs((0,), 0.3))
    laboratory, repaired = workshop.laboratory, workshop.repair(Pair.of(cell))
    explained, estimator = workshop.rewards(cell.logging).explained, further_by_name()[rule.CLIPPED]
    clipped = clipped_pipelines(workshop, cell)
    numbers = range(laboratory.design.test_sets)
    samples = [_samples(workshop, cell, repaired.test, number + 1) for number in numbers]
    heavy = [number for number in numbers if has_heavy_weights(samples[number], explained)]
    assert list(clipped) == heavy
    assert 0 < len(heavy) < len(numbers)

    found = main_pipelines(
        workshop, cell, Pairs(laboratory.test_context), Bandwidths(given=0.7, repaired=2.0)
    )
    picked = rule.picked(found, clipped, kept=repaired.kept, explained=explained)
    assert [number for number in numbers if picked[number] == f"repaired-{rule.CLIPPED}"] == heavy
    estimates = rule.estimates(found, picked, clipped)
    intervals = intervals_of(found, laboratory.experiment(cell).reward, picked, clipped)
    ends = {name: of_sets for name, _, of_sets in intervals}["recommended"]
    for number in heavy:
        public = estimator.estimate(samples[number])
        assert estimates.value[number] == pytest.approx(public.value, rel=1e-10)
        assert estimates.std_error[number] == pytest.approx(public.std_error, rel=1e-10)
        refitted = clipped[number].refitted
        assert refitted is not None
        error = float(model_error(refitted[:, None])[0])
        interval = kwis.StudentInterval(model_error=error).interval(estimator, samples[number], 0.95)
        assert error > 0
        assert ends[3, :, number] == pytest.approx([interval.low, interval.high], rel=1e-9)
    others = [number for number in numbers if number not in heavy]
    for number in others:
        assert estimates.value[number] == found[picked[number]].value[number]


def test_the_repair_learns_from_the_training_log_and_brings_the_propensities_closer(
    workshop: Workshop, cell: Cell
) -> None:
    laboratory, pair = workshop.laboratory, Pair.of(cell)
    rows = laboratory.rows[1]
    truth, given = (laboratory.probabilities(policy)[rows] for policy in pair)
    repaired = workshop.repair(pair)
    assert np.allclose(repaired.test.sum(axis=1), 1)
    assert repaired.gain > 0
    assert divergence(truth, repaired.test) < 0.5 * divergence(truth, given)


def test_propensities_that_are_right_are_kept(workshop: Workshop) -> None:
    logging = Gibbs((), 0.5)
    repaired = workshop.repair(Pair(logging, logging))
    assert repaired.kept
    assert np.array_equal(
        repaired.test, workshop.laboratory.probabilities(logging)[workshop.laboratory.rows[1]]
    )


def test_the_divergence_of_a_policy_from_itself_is_nothing() -> None:
    table = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    assert divergence(table, table) == 0
    assert divergence(table, np.full((2, 3), 1 / 3)) == pytest.approx((np.log(1.5) + np.log(3)) / 2)


def test_the_nearest_row_is_the_nearest_other_row() -> None:
    x = np.random.default_rng(0).standard_normal((700, 3))
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert np.array_equal(nearest_rows(x), distances.argmin(axis=1))


def test_a_policy_that_never_changes_is_perfectly_smooth(workshop: Workshop) -> None:
    laboratory = workshop.laboratory
    rough, smooth = Gibbs((), 0.3), Gibbs((), 50.0)
    found = Smoothness(laboratory)
    assert found.of(rough) < found.of(smooth)
    assert found.of(smooth) == pytest.approx(1, abs=0.01)
    assert found.of(rough, smooth) == found.of(rough)


def test_samples_of_pairs_hold_all_cells_of_their_pairs() -> None:
    everything = list(dataset_cells("mine", ((), (0,), (1,)), ["non-oracle"]))
    some = whole_pairs(everything, 4)
    pairs = {(one.logging, one.behaviour) for one in some}
    assert len(pairs) == 4
    assert some == [one for one in everything if (one.logging, one.behaviour) in pairs]
    assert {(one.logging, one.behaviour) for one in whole_pairs(everything, 2)} < pairs


def _task(table: Path, *settings: str, pairs: int = 3) -> Task:
    return Task(datasets=(str(table),), label="y", settings=settings, pairs=pairs, threads=1)


def _contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(path) as connection:
        return {
            name: connection.execute(f"select * from {name} order by 1, 2, 3").fetchall() for name in _TABLES
        }


@pytest.fixture(scope="module")
def finished(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "results.sqlite"
    task = _task(table, "non-oracle", "tempered")
    with Store(path) as store:
        run(store, task, io.StringIO())
        summary = run_pipelines(store, task, ["main"], io.StringIO())
        assert summary.failed == 0, store.failures()[:3]
        assert summary.finished == len({facts.key for facts in store.cells()})
    return path


def test_every_cell_has_every_main_pipeline(finished: Path) -> None:
    with Store(finished) as store:
        keys = {facts.key for facts in store.cells()}
        assert store.finished(MAIN_COLUMNS) == {(key, name) for key in keys for name in MAIN_COLUMNS}
        assert {one.name for _, one in store.measures()} == _MEASURES
        assert {method for _, _, method, _ in store.intervals()} == {"student", *METHODS}


def test_what_is_recommended_is_one_of_the_pipelines(finished: Path) -> None:
    with Store(finished) as store:
        picked = {key: one.words.split() for key, one in store.measures() if one.name == "picked"}
        values = {
            name: {one.key: one.value for one in store.estimates(name)} for name in {*MAIN_COLUMNS, *WEIGHTED}
        }
    assert picked
    for key, names in picked.items():
        for t, name in enumerate(names):
            assert rule.CLIPPED in name or values["recommended"][key][t] == values[name][key][t]


def test_a_run_in_pieces_is_the_same_as_a_run_in_one(
    finished: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, path = _task(table, "non-oracle", "tempered"), tmp_path / "pieces.sqlite"
    with Store(path) as store:
        run(store, task, io.StringIO())
        saved, left = Store.save_pipelines, [7]

        def stopped(self: Store, *arguments: object) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            saved(self, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(Store, "save_pipelines", stopped)
        with pytest.raises(KeyboardInterrupt):
            run_pipelines(store, task, ["main"], io.StringIO())
        monkeypatch.undo()
        summary = run_pipelines(store, task, ["main"], io.StringIO())
        assert summary.skipped == 7
        again = run_pipelines(store, task, ["main"], io.StringIO())
        assert (again.finished, again.skipped) == (0, summary.finished + 7)
    assert _contents(path) == _contents(finished)


def test_a_failed_pipeline_is_a_row_with_its_error(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> str:
        raise ZeroDivisionError("out of luck")

    task = _task(table, "tempered", pairs=1)
    with Store(tmp_path / "results.sqlite") as store:
        run(store, task, io.StringIO())
        monkeypatch.setattr(rule, "picked", broken)
        summary = run_pipelines(store, task, ["main"], io.StringIO())
        assert summary.failed == 7
        assert {error for _, _, error in store.failures()} == {"ZeroDivisionError: out of luck"}
        monkeypatch.undo()
        assert run_pipelines(store, task, ["main"], io.StringIO()).finished == 7
        assert store.failures() == []


def test_other_kernels_are_the_public_estimator_with_its_own_bandwidth(
    table: Path, workshop: Workshop, tmp_path: Path
) -> None:
    task = _task(table, "kernels", pairs=1)
    with Store(tmp_path / "results.sqlite") as store:
        run(store, task, io.StringIO())
        assert run_pipelines(store, task, ["kernels"], io.StringIO()).failed == 0
        found = {name: {one.key: one.value for one in store.estimates(name)} for name in KERNEL_COLUMNS}
    laboratory = workshop.laboratory
    one = next(
        cell
        for cell in dataset_cells(laboratory.dataset.name, laboratory.dataset.faulty, ["kernels"])
        if cell.key in found[KERNEL_COLUMNS[0]]
    )
    experiment = laboratory.experiment(one)
    for kernel in ("laplace", "epanechnikov"):
        choice = kwis.select_bandwidth(
            experiment.train_context, experiment.train_weight, folds=laboratory.fold_labels, kernel=kernel
        )
        sample = WeightedSample(
            context=experiment.context, weight=experiment.weight[:, 0], reward=experiment.reward[:, 0]
        )
        public = KernelWIS(choice.value, kernel=kernel, normalised=True).estimate(sample)
        assert found[f"normalised-kernel-wis-{kernel}"][one.key][0] == pytest.approx(public.value)


def test_every_part_of_the_repair_is_tried_alone(workshop: Workshop, cell: Cell) -> None:
    laboratory, bench, pair = workshop.laboratory, Bench.of(workshop, cell), Pair.of(cell)
    found = ablation(workshop, cell, REPAIRS)
    assert tuple(found) == ABLATION_COLUMNS
    (train, test), given = laboratory.rows, laboratory.probabilities(cell.behaviour)
    action, seed = laboratory.log(cell.logging, 0).action, workshop._seed(pair)
    scaled = fit_repair(laboratory.train_context, action, given[train], terms=("scale",), rng=seed)
    weight = bench.weight(scaled.distribution(laboratory.test_context, given[test]))
    assert np.allclose(
        found["scale-only-wis"].value, (weight * bench.reward).sum(axis=0) / weight.sum(axis=0)
    )
    known = fit_repair_logged(
        laboratory.train_context, action, given[train][np.arange(train.size), action], 3, rng=seed
    )
    taken = laboratory.log(cell.logging, _SET).action
    said = given[test][np.arange(test.size), taken]
    w = bench.evaluation[np.arange(test.size), taken] / known.propensity(laboratory.test_context, taken, said)
    assert found["logged-only-wis"].value[_SET - 1] == pytest.approx(
        np.average(bench.reward[:, _SET - 1], weights=w)
    )


def test_bandwidths_and_bounds_are_those_of_the_public_functions(
    table: Path, workshop: Workshop, tmp_path: Path
) -> None:
    task = _task(table, "non-oracle", pairs=1)
    with Store(tmp_path / "results.sqlite") as store:
        run(store, task, io.StringIO())
        assert run_pipelines(store, task, ["bandwidths", "bounds"], io.StringIO()).failed == 0, (
            store.failures()[:2]
        )
        found = {
            name: {one.key: one.value for one in store.estimates(name)}
            for name in (*BANDWIDTH_COLUMNS, "normalised-kernel-wis")
        }
        ends = {(key, name, method): found for key, name, method, found in store.intervals()}
        shared = store.bandwidths("shared")
    laboratory = workshop.laboratory
    cells = {
        cell.key: cell
        for cell in dataset_cells(laboratory.dataset.name, laboratory.dataset.faulty, ["non-oracle"])
    }
    key = next(iter(found["kernel-wis-shrunk"]))
    experiment = laboratory.experiment(cells[key])
    sample = WeightedSample(
        context=experiment.context, weight=experiment.weight[:, 1], reward=experiment.reward[:, 1]
    )
    for criterion in CRITERIA:
        choice = choose_bandwidth(sample, criterion, anchor=float(shared[key].value[0]))
        estimate = KernelWIS(choice.value, normalised=True).estimate(sample)
        assert found[f"normalised-kernel-wis-{criterion}"][key][1] == pytest.approx(estimate.value)
    choice = select_shrunk(experiment.train_context, experiment.train_weight, folds=laboratory.fold_labels)
    assert found["kernel-wis-shrunk"][key][1] == pytest.approx(KernelWIS(choice.value).estimate(sample).value)
    closest = np.abs(found["normalised-kernel-wis-best"][key] - experiment.expected).mean()
    assert closest <= np.abs(found["normalised-kernel-wis"][key] - experiment.expected).mean() + 1e-12
    assert key in shared
    bound = kwis.LogarithmicSmoothing().interval(kwis.VIS(), sample, 0.9)
    assert ends[key, "vis", "logarithmic-smoothing"][2, :, 1] == pytest.approx([bound.low, bound.high])


def test_the_average_over_bandwidths_is_one_of_public_estimates(
    table: Path, workshop: Workshop, tmp_path: Path
) -> None:
    task = _task(table, "non-oracle", pairs=1)
    with Store(tmp_path / "results.sqlite") as store:
        run(store, task, io.StringIO())
        assert run_pipelines(store, task, ["averages"], io.StringIO()).failed == 0, store.failures()[:2]
        found = {one.key: one for one in store.estimates(AVERAGED)}
    laboratory = workshop.laboratory
    cells = {
        cell.key: cell
        for cell in dataset_cells(laboratory.dataset.name, laboratory.dataset.faulty, ["non-oracle"])
    }
    key = next(iter(found))
    experiment = laboratory.experiment(cells[key])
    sample = WeightedSample(
        context=experiment.context, weight=experiment.weight[:, 1], reward=experiment.reward[:, 1]
    )
    grid = [np.inf, *usual_grid(experiment.context)]
    share = shares(
        held_out_errors(
            experiment.train_context, experiment.train_weight, laboratory.fold_labels, np.array(grid)
        )
    )
    public = [KernelWIS(h, normalised=True).estimate(sample) for h in grid]
    assert found[key].value[1] == pytest.approx(share @ [one.value for one in public])
    influence = share @ np.stack([one.influence for one in public])
    assert found[key].std_error[1] == pytest.approx(influence.std(ddof=1) / np.sqrt(influence.size))


def test_intervals_and_measures_survive_export(finished: Path, tmp_path: Path) -> None:
    results = archive.load(finished)
    again = archive.read(archive.write(results, tmp_path / "results"))
    assert again.intervals == results.intervals
    assert again.measures.keys() == results.measures.keys()
    for name, found in results.measures.items():
        for key, one in found.items():
            assert again.measures[name][key].words == one.words
            assert again.measures[name][key].value == pytest.approx(one.value, nan_ok=True)
    joined = archive.merge([results, results])
    assert joined.intervals == results.intervals


def test_no_name_is_used_twice() -> None:
    assert len(set(PIPELINES)) == len(PIPELINES)
    assert set(PARTS) == {"main", "ablation", "bandwidths", "averages", "bounds", "kernels"}
