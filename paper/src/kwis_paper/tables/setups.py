"""Ways to train the IW and SNIW policies, and what each gave on the four datasets they were tried on."""

from __future__ import annotations

from kwis_paper.ascent import EPOCHS, SETUPS, Setup
from kwis_paper.results import Results
from kwis_paper.setups import CHOSEN_ON, WITHIN, Trial
from kwis_paper.tables.record import Entry, Line, Table, text, whole


def setup_table(results: Results) -> Table:
    """One line per set-up, the best sum of both shares first."""
    by_setup: dict[Setup, dict[str, Trial]] = {}
    for one in results.trials:
        by_setup.setdefault(one.setup, {})[one.dataset] = one
    whole_ones = {setup: found for setup, found in by_setup.items() if set(found) >= set(CHOSEN_ON)}
    ranked = sorted(whole_ones, key=lambda setup: -_score(whole_ones[setup]))
    columns = [("", name) for name in ("Batch", "Step", "Objective", "Categories")]
    columns += [("Misplaced,", name) for name in (*CHOSEN_ON, "all")]
    columns += [("Matched,", name) for name in (*CHOSEN_ON, "all")]
    return Table(
        key="setups",
        title="How the IW and SNIW policies were trained: what was tried",
        caption=f"Gradient ascent over {EPOCHS} epochs, trained on every logging policy's log. Misplaced: "
        "oracle experiments missing from their published bucket. Matched: published oracle rows whose WIS "
        f"error is within {WITHIN:g}. Bold: the set-up used everywhere, chosen on these four datasets, "
        "before the others were run, by the largest sum of the shares of matched rows and of "
        "experiments in place.",
        columns=tuple(name for _, name in columns),
        groups=tuple(group for group, _ in columns),
        lines=tuple(_line(setup, whole_ones[setup]) for setup in ranked),
        notes=() if ranked else ("Nothing was tried: `kwis paper setups` does.",),
    )


def _score(found: dict[str, Trial]) -> float:
    trials = [found[name] for name in CHOSEN_ON]
    matched = sum(one.matched for one in trials) / sum(one.rows for one in trials)
    misplaced = sum(one.misplaced for one in trials) / sum(one.experiments for one in trials)
    return matched - misplaced


def _line(setup: Setup, found: dict[str, Trial]) -> Line:
    trials = [found[name] for name in CHOSEN_ON]
    chosen = setup == SETUPS["per-log"]
    entries: list[Entry] = [
        text(f"{setup.batch}" if setup.batch else "all rows", bold=chosen),
        text(f"{setup.step:g}", bold=chosen),
        text(setup.objective, bold=chosen),
        text("0 and 1" if setup.indicators else "standardised", bold=chosen),
        *(text(f"{one.misplaced} of {one.experiments}") for one in trials),
        whole(sum(one.misplaced for one in trials)),
        *(text(f"{one.matched} of {one.rows}") for one in trials),
        whole(sum(one.matched for one in trials)),
    ]
    return Line(entries=tuple(entries))
