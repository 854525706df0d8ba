"""Several estimators on the same logged data: ``OffPolicyEvaluation``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError, UnsupportedError

METRICS = ("relative-ee", "se")


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
                f"{', '.join(names) or 'none'}"
            )

    def estimate_policy_values(
        self, action_dist: Any, estimated_rewards_by_reg_model: Any = None, estimated_pscore: Any = None
    ) -> dict[str, float]:
        """Estimated value by the name of each estimator.

        ``estimated_rewards_by_reg_model`` may be a mapping from those names to arrays.
        """
        return self._each(
            lambda one, shared: one.estimate_policy_value(**shared),
            action_dist,
            estimated_rewards_by_reg_model,
            estimated_pscore,
        )

    def estimate_intervals(
        self,
        action_dist: Any,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        alpha: float = 0.05,
        n_bootstrap_samples: int = 100,
        random_state: int | None = None,
    ) -> dict[str, dict[str, float]]:
        """Bootstrap interval by the name of each estimator."""
        draws = {"alpha": alpha, "n_bootstrap_samples": n_bootstrap_samples, "random_state": random_state}
        return self._each(
            lambda one, shared: one.estimate_interval(**shared, **draws),
            action_dist,
            estimated_rewards_by_reg_model,
            estimated_pscore,
        )

    def summarize_off_policy_estimates(
        self,
        action_dist: Any,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        alpha: float = 0.05,
        n_bootstrap_samples: int = 100,
        random_state: int | None = None,
    ) -> tuple[Any, Any]:
        """Two pandas frames with a row per estimator: values, also relative to the mean logged reward, and
        intervals.
        """
        pandas = _pandas()
        shared = (action_dist, estimated_rewards_by_reg_model, estimated_pscore)
        values = pandas.DataFrame.from_dict(
            self.estimate_policy_values(*shared), orient="index", columns=["estimated_policy_value"]
        )
        logged = float(np.mean(self.bandit_feedback["reward"]))
        values["relative_estimated_policy_value"] = (
            values["estimated_policy_value"] / logged if logged > 0 else np.nan
        )
        return values, pandas.DataFrame(
            self.estimate_intervals(*shared, alpha, n_bootstrap_samples, random_state)
        ).T

    def evaluate_performance_of_estimators(
        self,
        ground_truth_policy_value: float,
        action_dist: Any,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        metric: str = "relative-ee",
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
        values = self.estimate_policy_values(action_dist, estimated_rewards_by_reg_model, estimated_pscore)
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
        metric: str = "relative-ee",
    ) -> Any:
        """The same errors as a pandas frame."""
        errors = self.evaluate_performance_of_estimators(
            ground_truth_policy_value, action_dist, estimated_rewards_by_reg_model, estimated_pscore, metric
        )
        return _pandas().DataFrame.from_dict(errors, orient="index", columns=[metric])

    def _each(
        self,
        run: Callable[[Any, dict[str, Any]], Any],
        action_dist: Any,
        predictions: Any,
        estimated_pscore: Any,
    ) -> dict[str, Any]:
        logged = {
            key: self.bandit_feedback.get(key)
            for key in ("reward", "action", "pscore", "position", "context")
        }
        found = {}
        for estimator in self.ope_estimators:
            name = estimator.estimator_name
            own = predictions.get(name) if isinstance(predictions, Mapping) else predictions
            arguments = {
                "action_dist": action_dist,
                "estimated_rewards_by_reg_model": own,
                "estimated_pscore": estimated_pscore,
            }
            found[name] = run(estimator, {**logged, **arguments})
        return found


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise UnsupportedError(
            "a summary needs pandas to be installed; estimate_policy_values and estimate_intervals do without"
        ) from None
    return pd
