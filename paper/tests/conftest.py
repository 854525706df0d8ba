from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder with the paper's datasets as Parquet files; tests that need it are skipped where there
    is none.
    """
    folder = os.environ.get("KWIS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("the paper's datasets are not here: set KWIS_DATA to the folder with their Parquet files")
    return Path(folder)
