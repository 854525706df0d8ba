"""Distributions of the reward under every policy, from a log, a path and by command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kwis
from kwis.cli.main import main
from tests.contracts.logs import shop

ROLES: dict[str, Any] = {"reward": "spend", "context": ["age", "country"], "propensity": "logged"}
NEW = {"new": kwis.distribution("p_new")}


def test_each_policy_has_the_distribution_of_its_weights() -> None:
    log = kwis.read_log(shop(), **ROLES)
    found = kwis.reward_distributions(log, NEW, repair="never", level=0.9)
    assert list(found.policies) == ["logging policy", "new"]
    weights = {"logging policy": np.ones(log.n)}
    weights |= kwis.evaluate(log, NEW, estimators=["wis"], repair="never").weights
    for name, one in found.policies.items():
        sample = kwis.WeightedSample(context=log.context, weight=weights[name], reward=log.reward[:, 0])
        expected = kwis.reward_distribution(sample, 0.9)
        for field in ("reward", "share", "low", "high"):
            np.testing.assert_array_equal(getattr(one, field), getattr(expected, field))
    np.testing.assert_array_equal(found.policies["new"].reward, found.policies["logging policy"].reward)


def test_it_prints_the_usual_shares_and_the_verdict() -> None:
    text = repr(kwis.reward_distributions(shop(), NEW, **ROLES))
    lines = text.splitlines()
    assert lines[0].startswith("share of spend at or below a value")
    assert 5 <= sum(" to " in line for line in lines) <= 9
    assert any(line.startswith("new: ") for line in lines)


def test_few_different_rewards_are_all_shown() -> None:
    lines = repr(kwis.reward_distributions(shop(), NEW, **{**ROLES, "reward": "click"})).splitlines()
    assert [line.split()[0] for line in lines if " to " in line] == ["0", "1"]


def test_weights_over_features_are_taken_with_care() -> None:
    kinds = {"banner": "site", "email": "phone", "push": "phone"}
    found = kwis.reward_distributions(shop(), NEW, action_features=kinds, repair="never", **ROLES)
    assert found.verdicts["new"].level != "trust"
    plain = kwis.reward_distributions(shop(), NEW, repair="never", **ROLES)
    assert not np.array_equal(found.policies["new"].share, plain.policies["new"].share)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_has_the_same_numbers(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"log.{suffix}"
    shop().to_csv(path, index=False) if suffix == "csv" else shop().to_parquet(path)
    options = ("--reward", "spend", "--context", "age,country", "--propensity", "logged")
    assert main(["distribution", str(path), *options, "--target", "new=distribution:p_new", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == "kwis-distribution/1"
    expected = kwis.reward_distributions(path, NEW, **ROLES)
    told = content["distribution"]["policies"]["new"]
    for field in ("reward", "share", "low", "high"):
        np.testing.assert_allclose(told[field], getattr(expected.policies["new"], field), atol=1e-12)
    assert main(["distribution", str(path), *options, "--target", "p_nwe"]) == 2
    assert "did you mean" in capsys.readouterr().err


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(kwis.InputError, match="`repair` must be one of"):
        kwis.reward_distributions(shop(), NEW, repair="sometimes", **ROLES)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'rewards'"):
        kwis.reward_distributions(shop(), NEW, rewards="spend")  # type: ignore[call-arg]
    with pytest.raises(kwis.InputError, match="`reward` must go with a path or a data frame"):
        kwis.reward_distributions(kwis.read_log(shop(), **ROLES), NEW, reward="spend")
