"""Names and text in Parquet files and Arrow tables that are not UTF-8, which Arrow itself does not check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kwis
from kwis.errors import InputError
from tests.cli.example import columns

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ROLES: dict[str, Any] = {"propensity": "propensity", "context": ["age", "country"]}


def arrow() -> Any:
    table = columns(60)
    cells = [country.encode() for country in table["country"]]
    cells[17] = b"B\xffR"
    starts = np.cumsum([0, *map(len, cells)]).astype(np.int32)
    text = pa.StringArray.from_buffers(60, pa.py_buffer(starts.tobytes()), pa.py_buffer(b"".join(cells)))
    return pa.table({**table, "country": text})


def test_text_that_is_not_utf8_is_refused_through_every_door(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    parquet.write_table(arrow(), path)
    with pytest.raises(InputError, match=r"^cannot read '.*log\.parquet': .*not valid UTF8$"):
        kwis.read_log(path, **ROLES)
    with pytest.raises(InputError, match=r"and '.*log\.parquet' cannot: .*Invalid UTF8 sequence .* 17$"):
        kwis.scan_log(path, **ROLES).read()
    with pytest.raises(InputError, match=r"^`country` must be text in UTF-8 in every row, and is not$"):
        kwis.read_log(arrow(), **ROLES)


def test_names_of_columns_that_are_not_utf8_are_refused_through_every_door(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    parquet.write_table(pa.table({**columns(60), "nameless": [1] * 60}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"nameless", b"name\xff\xfess"))
    for read in (kwis.read_log, kwis.scan_log):
        with pytest.raises(InputError, match=r"log\.parquet'.*: it is not UTF-8$"):
            read(path, **ROLES)
