"""Names for the types that cross module boundaries: arrays, and what a user may hand in."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Bandwidth = float | Floats
Seed = int | np.random.Generator
RepairMode = Literal["auto", "never", "always"]
REPAIR_MODES: tuple[RepairMode, ...] = ("auto", "never", "always")


class DataFrame(Protocol):
    """A data frame of pandas, polars or Dask, a table or a record batch of Arrow."""

    @property
    def columns(self) -> Any: ...


class Connection(Protocol):
    """An open database of SQLite or DuckDB."""

    def execute(self, query: str, /) -> Any: ...


class Classifier(Protocol):
    """A model of scikit-learn's kind that predicts probabilities."""

    def predict_proba(self, features: Any, /) -> Any: ...


class Regressor(Protocol):
    """A model of scikit-learn's kind that predicts numbers."""

    def fit(self, features: Any, values: Any, /) -> Any: ...

    def predict(self, features: Any, /) -> Any: ...


class Client(Protocol):
    """A ``dask.distributed.Client``."""

    @property
    def status(self) -> str: ...

    @property
    def scheduler(self) -> Any: ...

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any: ...

    def compute(self, collections: Any, /) -> Any: ...


FilePath: TypeAlias = str | os.PathLike[str]
LogSource: TypeAlias = FilePath | DataFrame | Mapping[str, Any] | Connection | Iterable[FilePath | DataFrame]
"""Where the rows of a log are: a file, a folder or a pattern, a frame, arrays by name, a database; several
files, or tables and record batches of Arrow.
"""

__all__ = [
    "REPAIR_MODES",
    "ArrayLike",
    "Bandwidth",
    "Classifier",
    "Client",
    "Connection",
    "DataFrame",
    "FilePath",
    "Floats",
    "Ints",
    "LogSource",
    "Regressor",
    "RepairMode",
    "Seed",
]
