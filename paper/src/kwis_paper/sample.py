"""A sample of experiments to spend more on, one stratum per policy type and row of a table."""

from __future__ import annotations

from collections.abc import Iterable

from kwis_paper import names
from kwis_paper.grid import Cell, cells

BANDWIDTH_SETTINGS = ("oracle", "non-oracle", "continuous")


def bandwidth_sample(per_row: int = 20) -> frozenset[str]:
    """Keys of at least ``per_row`` published experiments for each row of the paper's table of shared and
    per-feature bandwidths.
    """
    rows: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells(settings=BANDWIDTH_SETTINGS):
        if cell.published:
            rows.setdefault((cell.dataset, cell.setting), []).append(cell)
    return frozenset(key for members in rows.values() for key in stratified(members, per_row))


def whole_pairs(members: Iterable[Cell], count: int) -> list[Cell]:
    """All cells of ``count`` pairs of logging and behaviour policy; which ones follows from their names, the
    order stays.
    """
    everything = list(members)
    pairs = dict.fromkeys(
        (cell.dataset, cell.setting, cell.logging.name, cell.behaviour.name) for cell in everything
    )
    drawn = set(sorted(pairs, key=lambda pair: names.content_key("pairs", *pair))[:count])
    return [
        cell
        for cell in everything
        if (cell.dataset, cell.setting, cell.logging.name, cell.behaviour.name) in drawn
    ]


def stratified(members: Iterable[Cell], count: int) -> list[str]:
    """Keys of at least ``count`` cells, each policy type with its share rounded up; which ones follows from
    their names.
    """
    strata: dict[str, list[Cell]] = {}
    for cell in members:
        strata.setdefault(cell.policy_type, []).append(cell)
    total = sum(len(stratum) for stratum in strata.values())
    chosen: list[str] = []
    for stratum in strata.values():
        drawn = sorted(stratum, key=lambda cell: names.content_key("sample", *cell.names))
        chosen += [cell.key for cell in drawn[: -(-count * len(stratum) // total)]]
    return chosen
