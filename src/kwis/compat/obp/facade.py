"""Several estimators on the same logged data: ``OffPolicyEvaluation``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.compat.obp.draw import draw, pyplot
from kwis.errors import InputError, UnsupportedError

METRICS = ("relative-ee", "se")
LOGGED = (
    "reward",
    "action",
    "pscore",
    "position",
    "context",
    "stratum_idx",
    "pscore_avg",
    "action_embed",
    "pi_b",
)


@dataclass(frozen=True)
class OffPolicyEvaluation:
    """Estimators applied to a feedback dictionary.

    Parameters
    ----------
    bandit_feedback
        With ``action``, ``reward`` and ``pscore``, and where they are needed ``position`` and ``context``.
    ope_estimators
        Estimators with different names.
    """

    bandit_feedback: Mapping[str, Any]
    ope_estimators: Sequence[Any]

    def __post_init__(self) -> None:
        for key in ("action", "reward"):
            if key not in self.bandit_feedback:
                raise InputError(
                    f"`bandit_feedback` must have {key!r}, got "
                    f"{', '.join(sorted(map(str, self.bandit_feedback)))}"
                )
        names = [estimator.estimator_name for estimator in self.ope_estimators]
        if not names or len(set(names)) < len(names):
            raise InputError(
                f"`ope_estimators` must be at least one, with different names, got "
                f"{', '.join(names) or 'none'}; `estimator_name=` gives one another name"
            )

    @property
    def ope_estimators_(self) -> dict[str, Any]:
        """The estimators by name."""
        return {estimator.estimator_name: estimator for estimator in self.ope_estimators}

    def estimate_policy_values(
        self,
        action_dist: Any,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        **others: Any,
    ) -> dict[str, float]:
        """Estimated value by the name of each estimator.

        ``estimated_rewards_by_reg_model`` may be a mapping from those names to arrays.
        """
        return self._each(
            lambda one, shared: one.estimate_policy_value(**shared),
            action_dist,
            estimated_rewards_by_reg_model,
            estimated_pscore,
            others,
        )

    def estimate_intervals(
        self,
        action_dist: Any,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        *,
        alpha: float = 0.05,
        n_bootstrap_samples: int = 100,
        random_state: int | None = None,
        **others: Any,
    ) -> dict[str, dict[str, float]]:
        """Bootstrap interval by the name of each estimator."""
        draws = {"alpha": alpha, "n_bootstrap_samples": n_bootstrap_samples, "random_state": random_state}
        return self._each(
            lambda one, shared: one.estimate_interval(**shared, **draws),
            action_dist,
            estimated_rewards_by_reg_model,
            estimated_pscore,
            others,
        )

    def summarize_off_policy_estimates(
        self,
        action_dist: Any,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        *,
        alpha: float = 0.05,
        n_bootstrap_samples: int = 100,
        random_state: int | None = None,
        **others: Any,
    ) -> tuple[Any, Any]:
        """Two pandas frames with a row per estimator: values, also relative to the mean logged reward, and
        intervals.
        """
        pandas = _pandas()
        shared = (action_dist, estimated_rewards_by_reg_model, estimated_pscore)
        values = pandas.DataFrame.from_dict(
            self.estimate_policy_values(*shared, **others), orient="index", columns=["estimated_policy_value"]
        )
        logged = float(np.mean(self.bandit_feedback["reward"]))
        values["relative_estimated_policy_value"] = (
            values["estimated_policy_value"] / logged if logged > 0 else np.nan
        )
        return values, pandas.DataFrame(
            self.estimate_intervals(
                *shared,
                alpha=alpha,
                n_bootstrap_samples=n_bootstrap_samples,
                random_state=random_state,
                **others,
            )
        ).T

    def evaluate_performance_of_estimators(
        self,
        ground_truth_policy_value: float,
        action_dist: Any,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        *,
        metric: str = "se",
        **others: Any,
    ) -> dict[str, float]:
        """Error of each estimate against a known value: relative and absolute (``"relative-ee"``) or squared
        (``"se"``).
        """
        check.one_of(metric, "metric", METRICS)
        truth = float(ground_truth_policy_value)
        if metric == "relative-ee" and truth == 0:
            raise InputError(
                "`ground_truth_policy_value` must not be 0 for relative errors; metric='se' takes any"
            )
        values = self.estimate_policy_values(
            action_dist, estimated_rewards_by_reg_model, estimated_pscore, **others
        )
        return {
            name: abs(value - truth) / abs(truth) if metric == "relative-ee" else (value - truth) ** 2
            for name, value in values.items()
        }

    def summarize_estimators_comparison(
        self,
        ground_truth_policy_value: float,
        action_dist: Any,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        *,
        metric: str = "se",
        **others: Any,
    ) -> Any:
        """The same errors as a pandas frame."""
        pandas = _pandas()
        errors = self.evaluate_performance_of_estimators(
            ground_truth_policy_value,
            action_dist,
            estimated_rewards_by_reg_model,
            estimated_pscore,
            metric=metric,
            **others,
        )
        return pandas.DataFrame.from_dict(errors, orient="index", columns=[metric])

    def _each(
        self,
        run: Callable[[Any, dict[str, Any]], Any],
        action_dist: Any,
        predictions: Any,
        estimated_pscore: Any,
        others: Mapping[str, Any],
    ) -> dict[str, Any]:
        logged = {key: self.bandit_feedback.get(key) for key in LOGGED}
        found = {}
        for estimator in self.ope_estimators:
            name = estimator.estimator_name
            arguments = {
                "estimated_rewards_by_reg_model": predictions,
                "estimated_pscore": estimated_pscore,
                **others,
            }
            own = {key: _own(value, key, estimator) for key, value in arguments.items()}
            kept = {key: value for key, value in own.items() if value is not None or key not in LOGGED}
            found[name] = run(estimator, {**logged, "action_dist": action_dist, **kept})
        return found

    def visualize_off_policy_estimates(
        self,
        action_dist: Any,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        *,
        alpha: float = 0.05,
        is_relative: bool = False,
        n_bootstrap_samples: int = 100,
        random_state: int | None = None,
        fig_dir: Any = None,
        fig_name: str = "estimated_policy_value.png",
        **others: Any,
    ) -> Any:
        """Draw the value of each estimator with its interval; saved if ``fig_dir`` is given.

        Relative values are divided by the mean logged reward.
        """
        return self._drawn(
            {"": action_dist},
            {"": estimated_rewards_by_reg_model},
            estimated_pscore,
            {
                "alpha": alpha,
                "n_bootstrap_samples": n_bootstrap_samples,
                "random_state": random_state,
                **others,
            },
            is_relative,
            None if fig_dir is None else Path(fig_dir) / fig_name,
        )

    def visualize_off_policy_estimates_of_multiple_policies(
        self,
        policy_name_list: Sequence[str],
        action_dist_list: Sequence[Any],
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        *,
        alpha: float = 0.05,
        is_relative: bool = False,
        n_bootstrap_samples: int = 100,
        random_state: int | None = None,
        fig_dir: Any = None,
        fig_name: str = "estimated_policy_value.png",
        **others: Any,
    ) -> Any:
        """Draw the value of several policies by each estimator; saved if ``fig_dir`` is given."""
        if len(policy_name_list) != len(action_dist_list):
            raise InputError(
                f"`policy_name_list` must have a name for every policy, got {len(policy_name_list)} for "
                f"{len(action_dist_list)}"
            )
        policies = dict(zip(policy_name_list, action_dist_list, strict=True))
        return self._drawn(
            policies,
            dict.fromkeys(policies, estimated_rewards_by_reg_model),
            estimated_pscore,
            {
                "alpha": alpha,
                "n_bootstrap_samples": n_bootstrap_samples,
                "random_state": random_state,
                **others,
            },
            is_relative,
            None if fig_dir is None else Path(fig_dir) / fig_name,
        )

    def _drawn(
        self,
        policies: Mapping[str, Any],
        predictions: Mapping[str, Any],
        estimated_pscore: Any,
        draws: Mapping[str, Any],
        is_relative: bool,
        path: Path | None,
    ) -> Any:
        """One panel per estimator if there are several policies, else one panel."""
        plt = pyplot()  # refused before the bootstrap, not after it
        unit = float(np.mean(self.bandit_feedback["reward"])) if is_relative else 1.0
        if unit <= 0:
            raise InputError("`is_relative` must be False where the mean logged reward is not positive")
        found = {
            name: self.estimate_intervals(dist, predictions[name], estimated_pscore, **draws)
            for name, dist in policies.items()
        }
        if len(policies) == 1:
            panels = {"": next(iter(found.values()))}
        else:
            panels = {
                one.estimator_name: {name: ends[one.estimator_name] for name, ends in found.items()}
                for one in self.ope_estimators
            }
        return draw(plt, panels, unit, path)


@dataclass(frozen=True)
class MultiLoggersOffPolicyEvaluation(OffPolicyEvaluation):
    """The same for logs of several loggers, whose feedback has ``stratum_idx`` and perhaps ``pscore_avg``."""

    def __post_init__(self) -> None:
        OffPolicyEvaluation.__post_init__(self)
        if "stratum_idx" not in self.bandit_feedback:
            raise InputError(
                f"`bandit_feedback` must have 'stratum_idx', got "
                f"{', '.join(sorted(map(str, self.bandit_feedback)))}"
            )


def _own(value: Any, key: str, estimator: Any) -> Any:
    """What is meant for one estimator, of a value for all or of a mapping from their names."""
    if not isinstance(value, Mapping):
        return value
    name = estimator.estimator_name
    needed = key == "estimated_rewards_by_reg_model" and getattr(estimator, "_uses_predictions", False)
    if needed and name not in value:
        raise InputError(
            f"`{key}` must have an entry for {name!r}, got {', '.join(map(repr, value)) or 'none'}"
        )
    return value.get(name)


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise UnsupportedError(
            "a summary needs pandas: pip install pandas; "
            "estimate_policy_values and estimate_intervals do without"
        ) from None
    return pd
