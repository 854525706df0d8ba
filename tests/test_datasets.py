from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest

import kwis
from kwis import datasets


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log of the shape of the Open Bandit Dataset: 4 items shown at random in 3 slots."""
    rng = np.random.default_rng(0)
    place = tmp_path / "random" / "men"
    place.mkdir(parents=True)
    features = ",".join(f"user_feature_{number}" for number in range(4))
    lines = [f",timestamp,item_id,position,click,propensity_score,{features},user-item_affinity_0"]
    for row in range(120):
        user = ",".join(f"{value:032x}" for value in rng.integers(0, 3, 4))
        lines.append(
            f"{row},2019-11-24 00:{row // 60:02}:{row % 60:02}.000000+00:00,{rng.integers(4)},"
            f"{rng.integers(1, 4)},{int(rng.random() < 0.2)},0.25,{user},0.0"
        )
    (place / "men.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_a_log_of_the_open_bandit_dataset_has_items_as_actions_and_the_slot_as_context(folder):
    log = datasets.open_bandit(folder, "random", "men")
    assert log.n == 120
    answer = kwis.evaluate(log, kwis.uniform(), estimators=["wis"], repair="never")
    clicks = np.loadtxt(folder / "random" / "men" / "men.csv", delimiter=",", skiprows=1, usecols=4)
    assert answer.recommended["uniform"].row.estimate.value == pytest.approx(clicks.mean())


@pytest.mark.parametrize(
    ("policy", "campaign", "said"),
    [("best", "men", "`policy` must be one of random, bts, got 'best'"), ("bts", "men", "bts/men/men.csv")],
)
def test_what_is_not_there_is_refused_in_a_sentence(folder, policy, campaign, said):
    with pytest.raises(kwis.InputError, match=said):
        datasets.open_bandit(folder, policy, campaign)


def test_the_example_of_its_docstring_prints_what_it_shows():
    assert doctest.testmod(datasets, extraglobs={"kwis": kwis}).failed == 0
