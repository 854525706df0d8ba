"""Whatever a log holds, the command ends with an answer in finite numbers or with one sentence; never with
anything else.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import kwis
from kwis.cli.main import main
from kwis.errors import KwisError, KwisWarning
from kwis.policy.target import resolve_targets
from tests.cli.example import columns, write_csv

THOROUGH = settings(
    max_examples=1200,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
    phases=[Phase.explicit, Phase.generate],
)
ESTIMATORS = [
    "vis",
    "truncated-vis",
    "wis",
    "state-wis",
    "normalised-state-wis",
    "kernel-wis",
    "normalised-kernel-wis",
]
ESTIMATORS += ["direct-method", "doubly-robust", "doubly-robust-wis", "doubly-robust-normalised-kernel-wis"]
EXTREMES = [0.0, 1.0, -1.0, 1e-300, 1e300, -1e300, 1e-12, 1 - 1e-12, 0.5, 1e8, 5e-324]


@st.composite
def logs(draw: st.DrawFn) -> dict[str, Any]:
    """Logs that a reader accepts more often than not, with everything that can be odd about numbers."""
    n = draw(st.sampled_from([2, 3, 5, 29, 30, 31, 60]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.sampled_from([2, 3, 7]))
    behaviour = rng.dirichlet(np.full(k, draw(st.sampled_from([0.02, 0.5, 5.0]))), n)
    target = rng.dirichlet(np.full(k, draw(st.sampled_from([0.02, 0.5, 5.0]))), n)
    action = np.array([rng.choice(k, p=row) for row in behaviour])
    rows = np.arange(n)
    table: dict[str, Any] = {
        "action": action,
        "reward": draw(rewards(n, rng)),
        "propensity": np.clip(behaviour[rows, action], draw(st.sampled_from([1e-300, 1e-6, 0.05])), 1),
        "p_new": target[rows, action],
        **{f"p_new_{j}": target[:, j] for j in range(k)},
        "x": draw(numbers(n, rng)),
        "c": np.array(["a", "b", None], dtype=object)[rng.integers(draw(st.integers(1, 3)), size=n)],
        "user": rng.integers(draw(st.sampled_from([1, 2, n])), size=n),
        "weight": np.exp(rng.normal(size=n) * draw(st.sampled_from([0, 1, 50]))),
        "pick": rng.permutation(action),
    }
    for _ in range(draw(st.integers(0, 2))):
        name, row = draw(st.sampled_from(sorted(table))), draw(st.integers(0, n - 1))
        table[name] = np.array(table[name], dtype=object)
        table[name][row] = draw(
            st.one_of(st.sampled_from([*EXTREMES, math.nan, math.inf, None, "", "x"]), st.floats())
        )
    return table


@st.composite
def rewards(draw: st.DrawFn, n: int, rng: np.random.Generator) -> Any:
    kind = draw(st.sampled_from(["click", "equal", "normal", "huge", "tiny", "mixed"]))
    return {
        "click": rng.integers(2, size=n).astype(float),
        "equal": np.full(n, draw(st.sampled_from([0.0, 1.0, -3.5]))),
        "normal": rng.normal(size=n),
        "huge": rng.normal(size=n) * 1e98,
        "tiny": rng.normal(size=n) * 1e-300,
        "mixed": rng.choice(EXTREMES, size=n),
    }[kind]


@st.composite
def numbers(draw: st.DrawFn, n: int, rng: np.random.Generator) -> Any:
    kind = draw(st.sampled_from(["normal", "ties", "constant", "huge", "gaps"]))
    return {
        "normal": rng.normal(size=n),
        "ties": rng.integers(3, size=n).astype(float),
        "constant": np.ones(n),
        "huge": rng.normal(size=n) * 1e200,
        "gaps": np.where(rng.random(n) < 0.5, np.nan, rng.normal(size=n)),
    }[kind]


def roles(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "propensity": draw(st.sampled_from(["propensity", "propensity", "propensity", None])),
        "context": draw(st.sampled_from([["x"], ["c"], ["x", "c"], ["x", "c", "user"], None])),
        "group": draw(st.sampled_from([None, None, "user"])),
        "row_weight": draw(st.sampled_from([None, None, "weight"])),
    }


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Our own warnings are fine; anybody else's is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KwisWarning)
        yield


def numbers_of(row: Any) -> list[float]:
    return [
        row.estimate.value,
        row.interval.low,
        row.interval.high,
        row.estimate.std_error,
        row.estimate.effective_n,
    ]


@pytest.mark.slow
@THOROUGH
@given(data=st.data(), table=logs())
def test_evaluate_ends_in_finite_numbers_or_in_a_sentence(data: st.DataObject, table: dict[str, Any]) -> None:
    answer, refusal = None, ""
    with quiet():
        try:
            log = kwis.read_log(table, **data.draw(st.composite(roles)()))
            chosen = data.draw(st.sampled_from(["p_new", "chosen", "both"]))
            target = {
                "p_new": "p_new",
                "chosen": kwis.chosen("pick"),
                "both": ["p_new", kwis.chosen("pick")],
            }[chosen]
            names = data.draw(
                st.one_of(
                    st.none(), st.lists(st.sampled_from(ESTIMATORS), min_size=1, max_size=2, unique=True)
                )
            )
            by = data.draw(st.sampled_from([(), ("c",)])) if len(log) > 50 else ()
            interval = data.draw(
                st.sampled_from([None, kwis.InfluenceInterval(), kwis.Bootstrap(50, method="percentile")])
            )
            answer = kwis.evaluate(log, target, estimators=names, by=by, interval=interval)
        except KwisError as problem:
            refusal = str(problem)
        if answer is None:
            assert refusal
            assert "\n" not in refusal
            return
        segments = [segment for found in answer.segments for segment in found.segments]
        for row in [*answer.rows, *(row for segment in segments for row in segment.rows)]:
            assert np.isfinite(numbers_of(row)).all(), (row.target, row.estimator, numbers_of(row))
            assert row.interval.low <= row.interval.high
        for change in [*answer.changes, *(change for segment in segments for change in segment.changes)]:
            ends = [
                end
                for interval in (change.interval, change.simultaneous)
                for end in (interval.low, interval.value, interval.high)
            ]
            assert np.isfinite(ends).all(), (change.target, change.estimator, ends)
        assert repr(answer)
        assert str(answer.table())
        json.loads(answer.to_json())


@pytest.mark.slow
@settings(THOROUGH, max_examples=400)
@given(data=st.data())
def test_the_command_ends_with_an_answer_or_one_line(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Cells of a good log replaced by anything at all, bytes of the file changed, options at random."""
    folder = tmp_path_factory.mktemp("fuzz", numbered=True)
    table = columns(data.draw(st.sampled_from([5, 30, 60])))
    for _ in range(data.draw(st.sampled_from([0, 0, 1, 2]))):
        name = data.draw(st.sampled_from(sorted(table)))
        row = data.draw(st.integers(0, len(table[name]) - 1))
        table[name][row] = data.draw(
            st.one_of(st.text(max_size=5), st.floats().map(str), st.integers().map(str), st.just(""))
        )
    path = write_csv(folder / "log.csv", table)
    if data.draw(st.integers(0, 3)) == 0:
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
        path.write_bytes(bytes(content[: data.draw(st.sampled_from([len(content), at]))]))
    arguments = data.draw(options())
    report = folder / "report.html"
    report.write_text("an older report")
    code, out, err = run(["evaluate", str(path), *arguments, "--json", "--report", str(report)])
    assert code in (0, 1, 2), err
    lines = err.splitlines()
    assert all(line.startswith(("error: ", "warning: ", "gate failed: ")) for line in lines), err
    assert sum(line.startswith("error: ") for line in lines) == (1 if code == 2 else 0)
    if code == 2:
        assert out == ""
        assert report.read_text() == "an older report"
    elif "--help" not in arguments:
        assert json.loads(out)["rows"]
        assert report.read_text() != "an older report"


OPTIONS = {
    "--context": ["age", "age,country", "country", "user"],
    "--propensity": ["propensity", "b"],
    "--reward": ["reward", "age", "reward,weight"],
    "--group": ["user", "country"],
    "--by": ["country"],
    "--row-weight": ["weight"],
    "--time": ["day"],
    "--fail-below": ["0", "0.5", "-inf"],
    "--using": ["low", "high"],
    "--of": ["change"],
    "--level": ["0.5", "0.999"],
}


@st.composite
def options(draw: st.DrawFn) -> list[str]:
    """Options that make sense, and now and then one that does not."""
    targets = st.sampled_from(
        ["p_new", "q", "pick", "x=p_new", "chosen:pick", "distribution:q_banner,q_email,q_push"]
    )
    found = [
        "--target",
        draw(targets),
        "--estimator",
        draw(st.sampled_from(["wis", "normalised-kernel-wis", "vis,doubly-robust"])),
    ]
    for name, values in OPTIONS.items():
        if draw(st.integers(0, 3)) == 0:
            found += [name, draw(st.sampled_from(values))]
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(found) - 1))
        found[at] = draw(
            st.one_of(
                st.text(max_size=4), st.sampled_from(["nan", "nowhere", "age", "=", "--json", "--help"])
            )
        )
    return found


def run(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


def test_most_examples_of_the_fuzz_run_get_past_the_door() -> None:
    """A fuzz run that is refused every time would show nothing."""
    read = []

    @settings(max_examples=100, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(table=logs())
    def count(table: dict[str, Any]) -> None:
        with quiet(), contextlib.suppress(KwisError):
            log = kwis.read_log(table, propensity="propensity", context=["x", "c"])
            read.append(resolve_targets(log, "p_new"))

    count()
    assert len(read) > 50
