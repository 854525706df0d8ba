"""The datasets of the paper, and one's own: contexts ready for kernels and a class label per row.

A dataset is looked for in the folder named by ``KWIS_DATA`` (Parquet files, checksums verified), else fetched
from OpenML through scikit-learn, whose cache keeps it. ``digits`` needs neither. Shape and class counts are
verified whatever the source.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kwis import InputError
from kwis import _validation as check
from kwis.typing import Floats, Ints
from kwis_paper import sources
from kwis_paper.catalogue import DatasetSpec, FaultySets, default_faulty, spec_of
from kwis_paper.encoding import Numbers, Table, encode, label_codes, level_codes

DATA_FOLDER = "KWIS_DATA"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """A classification table, ready to be turned into a logged bandit: the classes are the actions.

    Attributes
    ----------
    context
        ``(n, d)`` encoded and standardised over all rows.
    label
        ``(n,)`` code of the right class, an index into ``classes``, which are in text order.
    levels
        ``(n, features)`` integer codes, where every feature is categorical.
    pixels
        ``(n, features)`` numbers as they came, where every feature is numeric and none is missing.
    faulty
        Sets of actions that Gibbs policies of this dataset get wrong.
    notes
        What must be said wherever results of this dataset are shown.
    """

    name: str
    source: str
    context: Floats
    label: Ints
    classes: tuple[str, ...]
    faulty: FaultySets
    levels: Ints | None = None
    pixels: Floats | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        return int(self.label.shape[0])

    @property
    def n_actions(self) -> int:
        return len(self.classes)


def load(name: str, *, label: str | None = None, data_home: str | None = None) -> Dataset:
    """Load a dataset of the paper by name, or a table of one's own.

    Parameters
    ----------
    name
        A name of the paper's dataset table, ``digits``, or the path of a CSV or Parquet file.
    label
        Column of the file that holds the class.
    data_home
        Where scikit-learn keeps what it fetches, if not in its usual place.
    """
    if label is not None:
        return _own_table(Path(name), label)
    spec = spec_of(name)
    source, table = _find(spec, data_home)
    verify(spec, table)
    return _dataset(spec.name, source, table, spec.faulty, spec.notes)


def verify(spec: DatasetSpec, table: Table) -> None:
    """Refuse a table whose shape or class counts are not those of the dataset."""
    shape = (len(table.label), len(table.features))
    if shape != (spec.rows, spec.features):
        raise InputError(
            f"`{spec.name}` must have {spec.rows} rows and {spec.features} features, got {shape[0]} and "
            f"{shape[1]}"
        )
    counts = tuple(int(count) for count in np.bincount(label_codes(table.label)[0]))
    same = (
        counts == spec.class_counts if spec.class_names_known else sorted(counts) == sorted(spec.class_counts)
    )
    if not same:
        raise InputError(f"`{spec.name}` must have the class counts {spec.class_counts}, got {counts}")


def _find(spec: DatasetSpec, data_home: str | None) -> tuple[str, Table]:
    if spec.openml_id is None:
        return "scikit-learn", sources.bundled_digits()
    folder, file = os.environ.get(DATA_FOLDER), f"{_file_stem(spec)}.parquet"
    if folder:
        path = Path(folder) / file
        if not path.is_file():
            raise InputError(f"`{DATA_FOLDER}` must name a folder that holds {path.name}, got {folder}")
        sources.verify_checksum(path, spec.sha256)
        return "parquet", sources.read_parquet(path)
    try:
        return "openml", sources.fetch_openml(spec.openml_id, data_home)
    except OSError as trouble:
        raise InputError(
            f"`{spec.name}` cannot be fetched from OpenML ({trouble}); name a folder that holds {file} by "
            f"{DATA_FOLDER}, or use the dataset digits, which needs no network"
        ) from None


def _file_stem(spec: DatasetSpec) -> str:
    return "optdigits" if spec.name == "optdigitsDist" else spec.name


def _own_table(path: Path, label: str) -> Dataset:
    if not path.is_file():
        raise InputError(f"`dataset` must be a CSV or Parquet file when a label is given, got {path}")
    table = sources.read_parquet(path, label) if path.suffix == ".parquet" else sources.read_csv(path, label)
    if not table.features:
        raise InputError(f"`{path.name}` must have a column beside {label!r}, got none")
    n_classes = len(set(table.label))
    if n_classes < 2:
        raise InputError(f"`{label}` must have at least 2 classes, got {n_classes}")
    # The content is part of the name: results of an edited file must not be taken for those of the old one.
    name = f"{path.stem}#{hashlib.sha256(path.read_bytes() + label.encode()).hexdigest()[:8]}"
    return _dataset(name, str(path), table, default_faulty(n_classes), ())


def _dataset(name: str, source: str, table: Table, faulty: FaultySets, notes: tuple[str, ...]) -> Dataset:
    codes, classes = label_codes(table.label)
    levels = level_codes(table.features)
    return Dataset(
        name=name,
        source=source,
        context=check.read_only(encode(table.features)),
        label=check.read_only(codes),
        classes=classes,
        faulty=faulty,
        levels=None if levels is None else check.read_only(levels),
        pixels=_pixels(table),
        notes=notes,
    )


def _pixels(table: Table) -> Floats | None:
    numbers = [feature.values for feature in table.features if isinstance(feature, Numbers)]
    if len(numbers) < len(table.features):
        return None
    raw = np.stack(numbers, axis=1)
    return None if np.isnan(raw).any() else check.read_only(raw)
