"""One cluster of two workers for all contracts, and one set of files per log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


@pytest.fixture(scope="session")
def folder_of_log(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], Path]:
    """A folder for the files of a log: the same for the same function that makes it."""
    folders: dict[Any, Path] = {}

    def folder(log: Any) -> Path:
        if log not in folders:
            folders[log] = tmp_path_factory.mktemp("log")
        return folders[log]

    return folder
