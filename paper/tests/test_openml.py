"""OpenML as scikit-learn reaches it, answered from recorded responses; no test touches the network."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets._openml as openml

from kwis import InputError
from kwis_paper.catalogue import SPECS
from kwis_paper.datasets import load, verify
from kwis_paper.encoding import Feature, Levels, Table
from kwis_paper.sources import fetch_openml, read_parquet

_HOST = "https://www.openml.org/"


class _Answer(io.BytesIO):
    def info(self) -> dict[str, str]:
        return {}


def _answer_with(monkeypatch: pytest.MonkeyPatch, responses: dict[str, bytes]) -> list[str]:
    """Serve recorded responses by path; returns the list of paths asked for."""
    asked: list[str] = []

    def urlopen(request: Any, **_: Any) -> _Answer:
        # Versions of scikit-learn ask www.openml.org or api.openml.org, with or without the name of a file.
        path = request.full_url.split("/", 3)[3]
        known = next(name for name in responses if f"{name}/".startswith(f"{path}/"))
        asked.append(known)
        return _Answer(responses[known])

    monkeypatch.setattr(openml, "urlopen", urlopen)
    return asked


def _responses(openml_id: int, features: list[tuple[str, str]], arff: str, rows: int) -> dict[str, bytes]:
    body = arff.encode()
    path = f"data/v1/download/{openml_id}/table.arff"
    description = {
        "id": str(openml_id),
        "name": "table",
        "version": "1",
        "description": "",
        "format": "ARFF",
        "status": "active",
        "url": _HOST + path,
        "file_id": str(openml_id),
        "md5_checksum": hashlib.md5(body).hexdigest(),
    }
    listed = [
        {
            "index": str(index),
            "name": name,
            "data_type": kind,
            "is_target": str(index == len(features) - 1).lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, (name, kind) in enumerate(features)
    ]
    api = "api/v1/json/data/"
    return {
        f"{api}{openml_id}": json.dumps({"data_set_description": description}).encode(),
        f"{api}features/{openml_id}": json.dumps({"data_features": {"feature": listed}}).encode(),
        f"{api}qualities/{openml_id}": json.dumps(
            {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(rows)}]}}
        ).encode(),
        path: body,
    }


_SMALL = """@relation table
@attribute colour {red,blue,'dark green'}
@attribute size numeric
@attribute class {b,a}
@data
red,1.5,b
?,2,a
'dark green',?,a
blue,4,b
"""


def test_levels_numbers_and_missing_values_arrive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _answer_with(
        monkeypatch,
        _responses(77, [("colour", "nominal"), ("size", "numeric"), ("class", "nominal")], _SMALL, 4),
    )
    table = fetch_openml(77, str(tmp_path))
    colour, size = table.features
    assert isinstance(colour, Levels)
    assert colour.levels == ("blue", "dark green", "red", "(missing)")
    assert colour.codes.tolist() == [2, 3, 1, 0]
    assert np.array_equal(size.values, [1.5, 2.0, np.nan, 4.0], equal_nan=True)
    assert table.label == ("b", "a", "a", "b")


def test_a_dataset_is_fetched_once_and_then_read_from_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = _answer_with(
        monkeypatch,
        _responses(77, [("colour", "nominal"), ("size", "numeric"), ("class", "nominal")], _SMALL, 4),
    )
    first = fetch_openml(77, str(tmp_path))
    fetched = len(asked)
    assert fetched == 4
    again = fetch_openml(77, str(tmp_path))
    assert len(asked) == fetched
    assert again.label == first.label


def test_what_openml_serves_is_verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KWIS_DATA", raising=False)
    responses = _responses(181, [("colour", "nominal"), ("size", "numeric"), ("class", "nominal")], _SMALL, 4)
    _answer_with(monkeypatch, responses)
    with pytest.raises(InputError, match="`yeast` must have 1484 rows and 8 features, got 4 and 2"):
        load("yeast", data_home=str(tmp_path))


def test_a_response_recorded_from_openml_itself_is_understood(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Iris, as OpenML answered it to scikit-learn's developers, who ship the recording."""
    folder = files("sklearn.datasets.tests") / "data" / "openml" / "id_61"
    if not folder.is_dir():
        pytest.skip("this scikit-learn does not ship its recorded responses")
    recorded = {
        "api/v1/json/data/61": "api-v1-jd-61.json.gz",
        "api/v1/json/data/features/61": "api-v1-jdf-61.json.gz",
        "api/v1/json/data/qualities/61": "api-v1-jdq-61.json.gz",
    }
    responses = {path: gzip.decompress((folder / name).read_bytes()) for path, name in recorded.items()}
    data = json.loads(responses["api/v1/json/data/61"])["data_set_description"]["url"].removeprefix(_HOST)
    responses[data] = gzip.decompress((folder / "data-v1-dl-61.arff.gz").read_bytes())
    _answer_with(monkeypatch, responses)
    table = fetch_openml(61, str(tmp_path))
    assert [feature.name for feature in table.features] == [
        "sepallength",
        "sepalwidth",
        "petallength",
        "petalwidth",
    ]
    assert len(table.label) == 150
    assert sorted(set(table.label)) == ["Iris-setosa", "Iris-versicolor", "Iris-virginica"]


def _arff(table: Table) -> str:
    names = [f"f{number}" for number in range(len(table.features))]
    kinds = [_kind(feature) for feature in table.features]
    head = [f"@attribute {name} {kind}" for name, kind in zip(names, kinds, strict=True)]
    classes = ",".join(f"'{name}'" for name in sorted(set(table.label), reverse=True))
    columns = [_texts(feature) for feature in table.features] + [[f"'{label}'" for label in table.label]]
    body = [",".join(row) for row in zip(*columns, strict=True)]
    return "\n".join(["@relation table", *head, f"@attribute class {{{classes}}}", "@data", *body, ""])


def _kind(feature: Feature) -> str:
    if isinstance(feature, Levels):
        return "{" + ",".join(f"'{level}'" for level in feature.levels if level != "(missing)") + "}"
    return "numeric"


def _texts(feature: Feature) -> list[str]:
    if isinstance(feature, Levels):
        return [
            "?" if feature.levels[code] == "(missing)" else f"'{feature.levels[code]}'"
            for code in feature.codes
        ]
    return [repr(float(value)) for value in feature.values]


@pytest.mark.parametrize("name", ["yeast", "soybean"])
def test_openml_and_the_folder_give_the_same_contexts(
    name: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from_folder = load(name)
    table = read_parquet(data_folder / f"{name}.parquet")
    kinds = ["nominal" if isinstance(feature, Levels) else "numeric" for feature in table.features] + [
        "nominal"
    ]
    features = [*((f"f{number}", kind) for number, kind in enumerate(kinds[:-1])), ("class", "nominal")]
    spec = SPECS[name]
    assert spec.openml_id is not None
    verify(spec, table)
    monkeypatch.delenv("KWIS_DATA")
    _answer_with(monkeypatch, _responses(spec.openml_id, features, _arff(table), spec.rows))
    from_openml = load(name, data_home=str(tmp_path))
    assert from_openml.source == "openml"
    assert np.array_equal(from_openml.context, from_folder.context)
    assert np.array_equal(from_openml.label, from_folder.label)
    assert from_openml.classes == from_folder.classes


def test_without_a_network_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(*_: object, **__: object) -> None:
        raise URLError("Name or service not known")

    monkeypatch.delenv("KWIS_DATA", raising=False)
    monkeypatch.setattr(openml, "urlopen", refused)
    monkeypatch.setattr(openml.time, "sleep", lambda _: None)
    advice = (
        r"Name or service not known.*name a folder that holds soybean.parquet by KWIS_DATA, or use .* digits"
    )
    with pytest.raises(InputError, match=advice):
        load("soybean", data_home=str(tmp_path))
