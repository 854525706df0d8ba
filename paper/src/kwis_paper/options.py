"""From the options of ``kwis paper run`` and ``status`` to a task of the runner."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwis_paper.grid import Cell
    from kwis_paper.runner import Task
    from kwis_paper.simulate import Design

KINDS = {"warm": "per-feature", "plain": "per-feature-plain"}


def task_of(
    dataset: list[str] | None,
    setting: list[str] | None,
    label: str | None,
    left_out: bool,
    replicates: int,
    kind: str | None,
    sample: int,
    estimators: list[str],
    jobs: int | None,
) -> Task:
    """The task that the options ask for; wrong names are refused before anything is opened."""
    from kwis_paper.catalogue import PAPER_DATASETS
    from kwis_paper.grid import SETTINGS
    from kwis_paper.runner import Task, estimator_from

    datasets, settings = _split(dataset) or PAPER_DATASETS, _split(setting) or SETTINGS
    cells = _cells(datasets, settings, label)
    return Task(
        datasets=datasets,
        settings=settings,
        label=label,
        left_out=left_out,
        extra=tuple(estimator_from(path) for path in estimators),
        replicates=replicates,
        per_feature=kind,
        only=_sampled(cells, sample) if kind == KINDS["plain"] and sample else None,
        threads=jobs,
    )


def design_of(**given: str | float | None) -> Design | None:
    """The design that the options ask for; None if they ask for none, which is that of the store."""
    from typing import get_args

    from kwis import InputError
    from kwis_paper.ascent import TRAININGS
    from kwis_paper.rewards import Noise, Rule
    from kwis_paper.simulate import Design

    wanted = {name: value for name, value in given.items() if value is not None}
    for name, known in (("training", TRAININGS), ("rule", get_args(Rule)), ("noise", get_args(Noise))):
        if name in wanted and wanted[name] not in known:
            raise InputError(f"`{name}` must be {' or '.join(known)}, got {wanted[name]!r}")
    share = wanted.get("test_share", 0.25)
    if not 0 < float(share) < 1:
        raise InputError(f"`test-share` must be between 0 and 1, got {share}")
    return Design(**wanted) if wanted else None  # type: ignore[arg-type]


def formats_of(names: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Formats that were named, separated by commas."""
    from kwis import InputError

    wanted = _split([names])
    if not wanted or any(name not in known for name in wanted):
        raise InputError(f"`format` must be among {', '.join(known)}, got {names!r}")
    return wanted


def kind_of(name: str | None) -> str | None:
    """Kind of bandwidth that ``warm`` and ``plain`` stand for."""
    from kwis import InputError

    if name is not None and name not in KINDS:
        raise InputError(f"`per-feature` must be {' or '.join(KINDS)}, got {name!r}")
    return None if name is None else KINDS[name]


def parts_of(names: str | None) -> tuple[str, ...]:
    """Parts of the pipelines that were named, in the order they are run."""
    from kwis import InputError
    from kwis_paper.beyond.columns import PARTS

    wanted = tuple(PARTS) if names == "all" else _split([] if names is None else [names])
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        raise InputError(f"`pipelines` must be all or among {', '.join(PARTS)}, got {unknown[0]!r}")
    return tuple(name for name in PARTS if name in wanted)


def _split(values: list[str] | None) -> tuple[str, ...]:
    """Repeated options and lists separated by commas, alike."""
    return tuple(part.strip() for value in values or [] for part in value.split(",") if part.strip())


def _cells(datasets: tuple[str, ...], settings: tuple[str, ...], label: str | None) -> list[Cell]:
    """Cells of a task; a wrong name is refused here, before anything is opened."""
    from kwis import InputError
    from kwis_paper.catalogue import spec_of
    from kwis_paper.datasets import load
    from kwis_paper.grid import dataset_cells, settings_of

    known = [load(name, label=label) if label is not None else spec_of(name) for name in datasets]
    cells = [cell for one in known for cell in dataset_cells(one.name, one.faulty, settings)]
    if not cells:
        used = "; ".join(f"{one.name} in {', '.join(settings_of(one.name))}" for one in known)
        raise InputError(
            f"`setting` must be one that the dataset is used in ({used}), got {', '.join(settings)}: "
            "there is nothing to run"
        )
    return cells


def _sampled(cells: list[Cell], count: int) -> frozenset[str]:
    from kwis_paper.sample import BANDWIDTH_SETTINGS, stratified

    rows: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.setting in BANDWIDTH_SETTINGS and not cell.left_out:
            rows.setdefault((cell.dataset, cell.setting), []).append(cell)
    return frozenset(key for members in rows.values() for key in stratified(members, count))
