"""Whatever the log, evaluate ends with a clear error or with numbers that can be trusted to be numbers."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kwis

SIZES = st.integers(2, 60)
SCALES = st.sampled_from([0.0, 1e-300, 1e-8, 1.0, 1e8, 1e300])


def _context(draw, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    kinds = {
        "number": lambda: rng.normal(size=n) * draw(SCALES),
        "gaps": lambda: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        "text": lambda: rng.choice(np.array(["a", "b", "<i>", "ß", None], dtype=object), n),
        "flag": lambda: rng.random(n) < 0.5,
        "day": lambda: np.datetime64("2024-01-01") + rng.integers(0, 90, n),
        "same": lambda: np.full(n, 3),
    }
    names = draw(st.lists(st.sampled_from(sorted(kinds)), unique=True, max_size=4))
    return {name: kinds[name]() for name in names}


@st.composite
def questions(draw):
    """A table, how to read it, and what to ask."""
    n, rng = draw(SIZES), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    actions = draw(st.integers(2, 4))
    context = _context(draw, n, rng)
    table = {
        **context,
        "action": rng.integers(0, actions, n),
        "p": rng.uniform(draw(st.sampled_from([0.0, 1e-12, 0.2])), 1, n),
        "reward": rng.choice([0.0, 1.0], n) if draw(st.booleans()) else rng.normal(size=n) * draw(SCALES),
        "second": rng.random(n),
        "user": rng.integers(0, draw(st.integers(1, n)), n),
        "mass": 10.0 ** rng.uniform(-6, 6, n),
        "target": rng.random(n) * (rng.random(n) < draw(st.sampled_from([0.05, 0.5, 1.0]))),
        "other": rng.integers(0, actions, n),
    }
    reading = {
        "reward": draw(st.sampled_from(["reward", ["reward", "second"]])),
        "context": list(context),
        "propensity": draw(st.sampled_from(["p", "p", None])),
        "group": draw(st.sampled_from([None, "user"])),
        "row_weight": draw(st.sampled_from([None, "mass"])),
    }
    probability, chosen = kwis.probability("target"), kwis.chosen("other")
    target = draw(st.sampled_from([{"t": probability}, {"o": chosen}, {"t": probability, "o": chosen}]))
    intervals = [None, kwis.Bootstrap(20), kwis.Bootstrap(20, method="studentised"), kwis.InfluenceInterval()]
    asking = {
        "interval": draw(st.sampled_from(intervals)),
        "by": draw(st.sampled_from([(), "user", "action"])),
        "level": draw(st.sampled_from([0.5, 0.95])),
    }
    return table, reading, target, asking


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(question=questions())
def test_no_log_brings_a_traceback_or_a_silent_number(question):
    table, reading, target, asking = question
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kwis.KwisWarning)
        try:
            found = kwis.evaluate(kwis.read_log(table, **reading), target, **asking)
        except kwis.KwisError:
            return
    for row in found.rows:
        assert math.isfinite(row.estimate.value)
        assert row.interval.low <= row.interval.high
    for change in found.changes:
        assert change.simultaneous.low <= change.simultaneous.high
    assert json.loads(found.to_json())["rows"]
    assert str(found.table())
    assert repr(found)
