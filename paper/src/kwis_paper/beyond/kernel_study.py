"""Kernels compared: their errors as a table, and in words where they differ from the RBF."""

from __future__ import annotations

from kwis import RBF
from kwis.kernel.profiles import KERNELS
from kwis_paper.beyond.columns import KERNEL_COLUMNS
from kwis_paper.beyond.kernels import KERNEL_ROWS
from kwis_paper.beyond.naming import table_of
from kwis_paper.beyond.summary import KERNELS as FOLDER
from kwis_paper.beyond.summary import datasets_of, error, finished, gap
from kwis_paper.records import CellFacts
from kwis_paper.results import Results
from kwis_paper.tables.record import Line, Table, number, text, whole

_WHEN = {"per-log": "on every log", "once": "once per dataset"}
_BASE, _RIVALS = KERNEL_COLUMNS[0], KERNEL_COLUMNS[2::2]  # Kernel-WIS with the RBF, and with the others


def kernel_table(results: Results) -> Table:
    """Kernel-WIS, plain and normalised, with every kernel, right and wrong propensities apart."""
    study = _study(results)
    others = [kernel for kernel in KERNELS if kernel != RBF.name]
    return table_of(
        "kernels",
        "Kernels",
        f"Error of Kernel-WIS and of its normalised form with every kernel, each with a bandwidth "
        f"cross-validated on {KERNEL_ROWS:,} of the training rows where there are more; then Kernel-WIS with "
        "a kernel minus Kernel-WIS with the RBF on the same experiments, with its standard error.",
        (
            "Dataset",
            "Propensities",
            "N",
            *(form for _ in KERNELS for form in ("Kernel-WIS", "Normalised")),
            *others,
        ),
        [_line(study, *row) for row in _rows(study)],
        groups=(
            "",
            "",
            "",
            *(kernel for kernel in KERNELS for _ in range(2)),
            *("minus RBF" for _ in others),
        ),
    )


def kernel_words(results: Results) -> list[str]:
    """Which kernels differ from the RBF by more than two standard errors, and where."""
    study = _study(results)
    rows = _rows(study)
    if not rows:
        return ["Other kernels are not in these results yet."]
    sizes: dict[str, int] = {}
    for dataset, _, part in rows:
        sizes[dataset] = sizes.get(dataset, 0) + len(part)
    lead = (
        f"Kernels, on {sum(sizes.values()):,} experiments of {', '.join(sizes)}, at least "
        f"{min(sizes.values())} of each, with IW and SNIW policies trained {_WHEN[study.design.training]}, "
        f"right and wrong propensities apart: {len(rows)} rows. A difference from the RBF counts if it "
        "exceeds twice its standard error."
    )
    return [lead, *(_verdict(study, column, rows) for column in _RIVALS)]


def _verdict(study: Results, column: str, rows: list[tuple[str, str, list[CellFacts]]]) -> str:
    gaps = [(f"{dataset} ({words})", gap(study, column, _BASE, part)) for dataset, words, part in rows]
    counted = [(where, one.mean) for where, one in gaps if abs(one.mean) > 2 * one.std_error]
    better, worse = ([pair for pair in counted if sign * pair[1] > 0] for sign in (-1, 1))
    name = column.removeprefix("kernel-wis-").capitalize()
    return f"{name}: better in {_listed(better)}, worse in {_listed(worse)}."


def _listed(gaps: list[tuple[str, float]]) -> str:
    """How many there are, and which."""
    named = ", ".join(f"{where} {mean:+.3f}" for where, mean in gaps)
    return f"{len(gaps)} ({named})" if gaps else "none"


def _study(results: Results) -> Results:
    """Results with every kernel: those beside these, or these themselves."""
    return results.others.get(FOLDER, results)


def _rows(study: Results) -> list[tuple[str, str, list[CellFacts]]]:
    """Experiments by dataset and by whether their propensities are right."""
    cells = finished(study, "kernels", column=_BASE)
    parts = {
        (dataset, words): [
            one for one in cells if one.dataset == dataset and (one.logging == one.behaviour) == right
        ]
        for dataset in datasets_of(cells)
        for right, words in ((True, "right"), (False, "wrong"))
    }
    return [(dataset, words, part) for (dataset, words), part in parts.items() if part]


def _line(study: Results, dataset: str, words: str, part: list[CellFacts]) -> Line:
    gaps = (gap(study, column, _BASE, part) for column in _RIVALS)
    entries = (
        text(dataset),
        text(words),
        whole(len(part)),
        *(number(error(study, name, part)) for name in KERNEL_COLUMNS),
        *(text(f"{one.mean:+.3f} ± {one.std_error:.3f}") for one in gaps),
    )
    return Line(entries=entries, dataset=dataset, setting="kernels")
