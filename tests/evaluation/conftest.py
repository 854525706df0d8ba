from __future__ import annotations

import pytest

import kwis

ROWS = 400


@pytest.fixture(scope="session")
def sample() -> kwis.data.sample_log.SampleLog:
    return kwis.sample_log(ROWS, rng=3)


@pytest.fixture(scope="session")
def log(sample) -> kwis.LoggedBandit:
    return sample.read()


@pytest.fixture(scope="session")
def evaluation(log) -> kwis.Evaluation:
    """Everything, on a small log: two targets, two rewards, groups, segments."""
    return kwis.evaluate(
        log, ["p_new", "p_bold"], interval=kwis.Bootstrap(200), by=["device", ("device", "member")]
    )
