"""The datasets: what the paper's table prints, and what the files hold."""

from __future__ import annotations

from kwis_paper.catalogue import SPECS, DatasetSpec
from kwis_paper.results import Results
from kwis_paper.tables.record import Entry, Line, Table, difference, text, whole

_COLUMNS = (
    ("", "Dataset"),
    ("", "OpenML"),
    ("State dim.", "ours"),
    ("State dim.", "paper"),
    ("", "Actions"),
    ("Size", "ours"),
    ("Size", "paper"),
    ("Size", "diff."),
    ("", "Faulty actions"),
    ("", "Prev. work"),
    ("Experiments", "here"),
)


def dataset_table(results: Results) -> Table:
    """Summary of the datasets, those of the paper and any other with results."""
    shown = [
        spec
        for spec in SPECS.values()
        if spec.paper_rows is not None or any(f.dataset == spec.name for f in results.cells.values())
    ]
    own = sorted({facts.dataset for facts in results.cells.values()} - set(SPECS))
    return Table(
        key="datasets",
        title="Datasets",
        caption="Datasets with the dimension of their states (after one-hot encoding in brackets), actions, "
        "rows and the sets of actions "
        "that Gibbs policies get wrong.",
        columns=tuple(name for _, name in _COLUMNS),
        groups=tuple(group for group, _ in _COLUMNS),
        lines=(*(_line(spec, results) for spec in shown), *(_own_line(name, results) for name in own)),
        label="tbl:dataset_summary_stats",
        notes=tuple(
            f"{note[0].upper()}{note[1:]}." if not note.startswith(spec.name) else f"{note}."
            for spec in shown
            for note in spec.notes
        ),
    )


def _line(spec: DatasetSpec, results: Results) -> Line:
    state = f"{spec.features:,}" if spec.features == spec.columns else f"{spec.features:,} ({spec.columns})"
    faulty = "; ".join(",".join(map(str, actions)) or "None" for actions in spec.faulty)
    size = difference(spec.rows, spec.paper_rows, 0) if spec.paper_rows is not None else text("–")
    entries: tuple[Entry, ...] = (
        text(spec.name),
        text("" if spec.openml_id is None else str(spec.openml_id)),
        text(state),
        text(spec.paper_state_dim or "–"),
        whole(spec.n_actions),
        whole(spec.rows),
        whole(spec.paper_rows),
        size,
        text(faulty),
        text("Yes" if spec.previous_work else "No" if spec.paper_rows is not None else "–"),
        whole(sum(facts.dataset == spec.name for facts in results.cells.values())),
    )
    return Line(entries=entries, dataset=spec.name)


def _own_line(name: str, results: Results) -> Line:
    cells = [facts for facts in results.cells.values() if facts.dataset == name]
    dash = text("–")
    rows = cells[0].n_train + cells[0].n_test
    entries = (text(name), dash, dash, dash, dash, whole(rows), dash, dash, dash, dash, whole(len(cells)))
    return Line(entries=entries, dataset=name)
