from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kwis import InputError
from kwis_paper import published
from kwis_paper.datasets import load
from kwis_paper.grid import bucket, cells, dataset_cells, settings_of
from kwis_paper.policies import Gibbs
from kwis_paper.rewards import single_action

_EXACT_BOTH = ("arrhythmia", "soybean", "page-blocks")
_EXACT_ORACLE = (*_EXACT_BOTH, "micro-mass", "letter", "kropt")


def test_the_grid_has_the_published_number_of_experiments() -> None:
    counts = Counter(cell.setting for cell in cells() if cell.published)
    assert counts == {
        "oracle": 1784,
        "continuous": 188,
        "non-oracle": 7792,
        "learnt-oracle": 144,
        "learnt-non-oracle": 432,
    }
    assert counts.total() == 10_340


def test_what_the_paper_left_out_is_marked_as_ours() -> None:
    ours = Counter((cell.dataset, cell.setting) for cell in cells() if not cell.published)
    assert ours == {("letter", "non-oracle"): 1216, ("kropt", "non-oracle"): 1216}
    assert not any(cell.published for cell in cells(["digits"]))


def test_keys_and_seeds_are_all_different() -> None:
    everything = list(cells())
    assert len({cell.key for cell in everything}) == len(everything)
    assert len({cell.seed for cell in everything}) == len(everything)


def test_keys_and_seeds_follow_from_names_and_never_change() -> None:
    first = next(cells(["yeast"], ["oracle"]))
    assert first.names == ("yeast", "oracle", "gibbs[]@0.3", "gibbs[]@0.3", "gibbs[]@0.3")
    assert (
        first.key == "121dc557c440656e"
    )  # sha256 of "4:cell5:yeast6:oracle11:gibbs[]@0.3...", worked out by sha256sum
    assert first.seed == 4935592996256227609


def test_adding_cells_changes_no_key_or_seed() -> None:
    few = {(cell.names, cell.key, cell.seed) for cell in dataset_cells("mine", ((), (0,)), ["oracle"])}
    many = {(cell.names, cell.key, cell.seed) for cell in dataset_cells("mine", ((), (0,), (1,), (0, 1)))}
    assert few < many


def test_oracle_cells_behave_as_they_log_and_others_never_do() -> None:
    for cell in cells(["yeast"]):
        assert cell.oracle == (not cell.setting.endswith("non-oracle"))


def test_gibbs_neighbours_are_at_most_two_and_one_actions_apart() -> None:
    for cell in cells(["letter"], ["non-oracle"]):
        assert isinstance(cell.logging, Gibbs)
        assert isinstance(cell.behaviour, Gibbs)
        assert abs(len(cell.behaviour.faulty) - len(cell.logging.faulty)) <= 1
        if isinstance(cell.evaluation, Gibbs):
            assert abs(len(cell.evaluation.faulty) - len(cell.logging.faulty)) <= 2


def test_cells_are_enumerated_lazily() -> None:
    endless = cells(name for name in iter(lambda: "yeast", None))
    assert next(endless).dataset == "yeast"


@pytest.mark.parametrize(
    ("difference", "label"),
    [
        (0.0, "(-0.2, 0.0]"),
        (1e-12, "(-0.2, 0.0]"),
        (1e-6, "(0.0, 0.2]"),
        (0.2, "(0.0, 0.2]"),
        (0.1 + 0.1 + 1e-13, "(0.0, 0.2]"),
        (-0.25, "(0.2, 0.4]"),
        (0.6000000001, "(0.4, 0.6]"),
        (0.61, "(0.6, 0.8]"),
        (1.0, "(0.8, 1.0]"),
    ],
)
def test_buckets_are_right_closed_and_deaf_to_rounding(difference: float, label: str) -> None:
    assert bucket(difference) == label


def test_continuous_rewards_have_one_dataset_and_it_has_nothing_else() -> None:
    assert settings_of("optdigitsDist") == ("continuous",)
    assert "continuous" not in settings_of("optdigits")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match=r"`dataset` must be one of arrhythmia, .*, got 'iris'"):
        next(cells(["iris"]))
    with pytest.raises(InputError, match=r"`setting` must be one of oracle, .*, got 'both'"):
        next(cells(["yeast"], ["both"]))


def _gibbs_counts(name: str, setting: str) -> Counter[str]:
    data = load(name)
    rewards = single_action(data.label, data.n_actions)
    rows = np.arange(data.n)
    policies = {cell.logging for cell in cells([name], [setting])}
    value = {
        policy: rewards.value(policy.probabilities(data.label, data.n_actions), rows) for policy in policies
    }
    gibbs = (cell for cell in cells([name], [setting]) if cell.policy_type == "Gibbs")
    return Counter(bucket(value[cell.evaluation] - value[cell.logging]) for cell in gibbs)


def _published_counts(name: str, table: str) -> dict[str, int]:
    columns = [
        published.table(table).column(column)
        for column in ("dataset", "policy_type", "abs_diff_bucket", "n_obs")
    ]
    return {
        label: count
        for dataset, kind, label, count in zip(*columns, strict=True)
        if (dataset, kind) == (name, "Gibbs")
    }


@pytest.mark.parametrize("name", _EXACT_ORACLE)
@pytest.mark.usefixtures("data_folder")
def test_every_oracle_bucket_holds_as_many_gibbs_experiments_as_published(name: str) -> None:
    assert _gibbs_counts(name, "oracle") == _published_counts(name, "oracle")


@pytest.mark.parametrize("name", _EXACT_BOTH)
@pytest.mark.usefixtures("data_folder")
def test_every_non_oracle_bucket_holds_as_many_gibbs_experiments_as_published(name: str) -> None:
    assert _gibbs_counts(name, "non-oracle") == _published_counts(name, "non_oracle")


@pytest.mark.usefixtures("data_folder")
def test_reconstructed_class_codes_of_micro_mass_move_two_non_oracle_experiments() -> None:
    assert _gibbs_counts("micro-mass", "non-oracle") == {
        "(-0.2, 0.0]": 88,
        "(0.0, 0.2]": 376,
        "(0.2, 0.4]": 400,
    }
    assert _published_counts("micro-mass", "non_oracle") == {
        "(-0.2, 0.0]": 88,
        "(0.0, 0.2]": 378,
        "(0.2, 0.4]": 398,
    }


@pytest.mark.parametrize("name", ["optdigits", "yeast", "pendigits"])
@pytest.mark.usefixtures("data_folder")
def test_pairs_at_a_bucket_edge_leave_the_totals_as_published(name: str) -> None:
    for setting, table in (("oracle", "oracle"), ("non-oracle", "non_oracle")):
        assert _gibbs_counts(name, setting).total() == sum(_published_counts(name, table).values())
