from __future__ import annotations

import math

import pytest

from kwis import InputError
from kwis_paper import published
from kwis_paper.grid import cells


def test_all_ten_tables_are_shipped_and_read() -> None:
    sizes = {name: len(published.table(name).rows) for name in published.CAPTIONS}
    assert sizes == {
        "overall": 17,
        "percentiles": 17,
        "oracle": 85,
        "oracle_coverage": 85,
        "non_oracle": 67,
        "non_oracle_coverage": 67,
        "continuous": 16,
        "bandwidth_sensitivity": 17,
        "learnt_oracle": 40,
        "learnt_non_oracle": 48,
    }


def test_values_keep_the_type_they_have_in_the_paper() -> None:
    oracle = published.table("oracle")
    row = {"dataset": "pendigits", "policy_type": "Gibbs", "abs_diff_bucket": "(-0.2, 0.0]"}
    assert oracle.value("wis", **row) == 0.028
    assert oracle.value("wis_std", **row) == 0.014
    assert oracle.value("n_obs", **row) == 14
    assert oracle.value("wis", dataset="no such") is None
    lone = {"dataset": "pendigits", "policy_type": "SNIW", "abs_diff_bucket": "(0.6, 0.8]"}
    assert math.isnan(oracle.value("wis_std", **lone))


def test_coverages_are_multiples_of_a_ninth_in_single_experiments() -> None:
    table = published.table("oracle_coverage")
    lone = [
        value
        for value, std in zip(table.column("wis_coverage"), table.column("wis_coverage_std"), strict=True)
        if math.isnan(std)
    ]
    assert lone
    assert all(abs(9 * value - round(9 * value)) < 0.01 for value in lone)


@pytest.mark.parametrize(
    ("table", "setting"),
    [
        ("oracle", "oracle"),
        ("non_oracle", "non-oracle"),
        ("learnt_oracle", "learnt-oracle"),
        ("learnt_non_oracle", "learnt-non-oracle"),
    ],
)
def test_every_published_total_is_the_number_of_our_cells(table: str, setting: str) -> None:
    columns = [published.table(table).column(name) for name in ("dataset", "policy_type", "n_obs")]
    theirs: dict[tuple[str, str], int] = {}
    for dataset, kind, count in zip(*columns, strict=True):
        theirs[dataset, kind] = theirs.get((dataset, kind), 0) + count
    ours: dict[tuple[str, str], int] = {}
    for cell in cells(settings=[setting]):
        if cell.published:
            ours[cell.dataset, cell.policy_type] = ours.get((cell.dataset, cell.policy_type), 0) + 1
    assert ours == theirs


def test_the_continuous_total_is_the_number_of_our_cells() -> None:
    table = published.table("continuous")
    theirs = sum(
        count
        for name, count in zip(table.column("dataset"), table.column("n_obs"), strict=True)
        if name == "optdigitsDist"
    )
    assert sum(1 for _ in cells(settings=["continuous"])) == theirs == 188


def test_an_unknown_table_or_column_is_refused() -> None:
    with pytest.raises(InputError, match=r"`name` must be one of overall, .*, got 'nothing'"):
        published.table("nothing")
    with pytest.raises(InputError, match=r"`column` must be one of reward, .*, got 'nothing'"):
        published.table("overall").column("nothing")
