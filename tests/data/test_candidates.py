"""Candidate sets: every way to write them is read alike; what contradicts them is refused with its row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kwis
from kwis.data.lists import split_text
from kwis.errors import InputError
from kwis.policy.discrete import uniform_distribution
from kwis.policy.target import resolve_target
from tests.reference import candidates as twin

ITEMS = ["a", "b", "c", "d", "e"]
N = 60


def rows(seed: int = 0, numbers: bool = False) -> Any:
    """A frame with lists of two to four candidates, and probabilities beside them; ``e`` is never taken."""
    rng = np.random.default_rng(seed)
    labels = [10, 20, 30, 40, 50] if numbers else ITEMS
    sets = [[*rng.permutation(4)[: rng.integers(2, 4)], 4] for _ in range(N)]
    scores = [[*0.9 * rng.dirichlet(np.ones(len(one) - 1)), 0.1] for one in sets]
    return pd.DataFrame(
        {
            "x": rng.normal(size=N),
            "action": [labels[one[0]] for one in sets],
            "reward": rng.random(N),
            "offered": [[labels[code] for code in one] for one in sets],
            "p": scores,
            "new": [list(reversed(one)) for one in scores],
        }
    )


def as_text(frame: Any, joint: str = "|") -> Any:
    written = {name: [joint.join(map(str, one)) for one in frame[name]] for name in ("offered", "p", "new")}
    return frame.assign(**written)


def read(source: Any, **more: Any) -> kwis.LoggedBandit:
    return kwis.read_log(source, candidates="offered", propensity="p", context="x", **more)


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize(
    "door", ["frame", "parquet", "json", "csv", "text ;", "brackets", "quoted", "dictionary"]
)
def test_every_way_to_write_candidates_is_read_alike(door: str, numbers: bool, tmp_path: Path) -> None:
    frame = rows(numbers=numbers)
    path = tmp_path / f"log.{ {'json': 'jsonl'}.get(door, door) }"
    if door == "parquet":
        frame.to_parquet(path)
    elif door == "json":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    elif door == "csv":
        as_text(frame).to_csv(path, index=False)
    made: Any = {
        "frame": frame,
        "text ;": as_text(frame, ";"),
        "brackets": frame.assign(offered=[f"[{', '.join(map(str, one))}]" for one in frame["offered"]]),
        "quoted": frame.assign(offered=[str(one) for one in frame["offered"]]),
        "dictionary": {name: list(frame[name]) for name in frame},
    }.get(door, path)
    log = read(made)
    actions = [10, 20, 30, 40, 50] if numbers else ITEMS
    assert list(log.action_names) == actions
    expected = np.array(twin.distribution(frame["offered"], frame["p"], actions))
    np.testing.assert_allclose(log.behaviour, expected, rtol=1e-12)
    np.testing.assert_array_equal(log.available, expected > 0)
    assert not log.available.flags.writeable
    target = resolve_target(log, "new")
    np.testing.assert_allclose(
        target.distribution, twin.distribution(frame["offered"], frame["new"], actions), rtol=1e-12
    )
    said = resolve_target(log, kwis.distribution("new"))
    assert said.name == "new"
    np.testing.assert_array_equal(said.distribution, target.distribution)
    np.testing.assert_array_equal(uniform_distribution(log), twin.uniform(frame["offered"], actions))


def test_yes_no_columns_are_candidates_by_prefix_mapping_and_matrix() -> None:
    log = read(rows())
    frame = rows().drop(columns=["offered", "p", "new"]).assign(propensity=0.4)
    flags = {f"has_{item}": log.available[:, code] for code, item in enumerate(ITEMS)}
    for asked in ("has", {item: f"has_{item}" for item in ITEMS}):
        found = kwis.read_log(frame.assign(**flags), candidates=asked)
        assert found.action_names == log.action_names  # the item that no row took among them
        np.testing.assert_array_equal(found.available, log.available)
        assert found.context_columns == ("x",)
    found = kwis.read_log(frame, candidates=log.available, actions=ITEMS)
    np.testing.assert_array_equal(found.available, log.available)


def test_rows_keep_their_candidates() -> None:
    log = read(rows())
    part = log.take([7, 3, 3])
    np.testing.assert_array_equal(part.available, log.available[[7, 3, 3]])
    whole = resolve_target(log, "new").distribution
    np.testing.assert_array_equal(resolve_target(part, "new").distribution, whole[[7, 3, 3]])


def test_what_contradicts_the_candidates_is_refused_with_its_row() -> None:
    frame = rows()
    gone = frame.assign(offered=[["a", "b"] if i == 5 else one for i, one in enumerate(frame["offered"])])
    gone.loc[5, "action"] = "c"
    with pytest.raises(
        InputError,
        match=r"^`candidates` must contain the action taken, got 'c' beside a, b at row 5; correct",
    ):
        kwis.read_log(gone, candidates="offered", propensity=False)
    gone.loc[8, "offered"] = None
    gone.at[8, "offered"] = ["a", "b"]
    gone.loc[8, "action"] = "c"
    with pytest.raises(InputError, match=r" beside a, b at row 5, the first of 2 such rows; correct the"):
        kwis.read_log(gone, candidates="offered", propensity=False)
    short = frame.assign(p=[one[:-1] if i == 3 else one for i, one in enumerate(frame["p"])])
    with pytest.raises(
        InputError, match=r"^`p` \(propensity\) must have one probability per candidate, .* at row 3$"
    ):
        read(short)
    heavy = frame.assign(p=[[0.9] * len(one) if i == 2 else one for i, one in enumerate(frame["p"])])
    with pytest.raises(
        InputError, match=r"must be probabilities that sum to 1 over the candidates, got .* at row 2$"
    ):
        read(heavy)
    log = read(frame)
    outside = np.full((N, 5), 0.2)
    with pytest.raises(
        InputError, match=r"^`target` must be 0 for actions that are not available, got 0.2 for "
    ):
        resolve_target(log, outside)
    row = int(np.argmin(log.available[:, 0]))
    with pytest.raises(InputError, match=rf"at row {row}, which is not among its candidates$"):
        resolve_target(log, kwis.chosen("same")) if "same" in log.table else resolve_target(
            log, np.repeat("a", N)
        )


def test_one_candidate_has_probability_one() -> None:
    frame = rows().assign(propensity=0.5)
    alone = frame.assign(
        offered=[[frame["action"][0]] if i == 0 else one for i, one in enumerate(frame["offered"])]
    )
    with pytest.raises(
        InputError, match=r"^`propensity` must be 1 where there is one candidate, got 0.5 at row 0$"
    ):
        kwis.read_log(alone, candidates="offered", propensity="propensity", context="x")


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("a|b|c", ["a", "b", "c"]),
        ("red shoes, blue hat", ["red shoes", "blue hat"]),
        ("[1, 2]", [1, 2]),
        ("['a', 'b']", ["a", "b"]),
        ('["a, b", "c"]', ["a, b", "c"]),
        ("{a;b}", ["a", "b"]),
        ("alone", ["alone"]),
        ("", []),
    ],
)
def test_lists_written_as_text(text: str, entries: list[Any]) -> None:
    assert split_text(text) == entries
