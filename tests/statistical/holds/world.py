"""A regime made real: functions drawn from its names, logs drawn from them, and the truth about its
policies.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tests.statistical.holds import contexts as context_kinds
from tests.statistical.holds import policies, spec
from tests.statistical.holds.misreports import STRENGTHS
from tests.statistical.holds.names import stream
from tests.statistical.holds.rewards import reward_of
from tests.statistical.holds.scores import FORMS, blend, standardised

REFERENCE = 20_000  # contexts by which functions are scaled and policies calibrated
BLOCK = 20_000


@dataclass(frozen=True)
class Truth:
    """Values of the policies; by segment where there are any."""

    logging: float
    targets: dict[str, float]
    segments: dict[str, dict[str, float]]  # differences to the logging policy by target and segment

    def difference(self, target):
        return self.targets[target] - self.logging


@dataclass(frozen=True)
class World:
    regime: spec.Regime
    variant: str

    def stream(self, *names):
        return stream(self.variant, self.regime.family or self.regime.name, *names)

    def strength(self, name):
        return STRENGTHS[self.variant][name]

    @property
    def n_actions(self):
        return self.regime.actions

    def contexts(self, rng, n):
        """Raw columns and features; a hidden confounder is the last feature and no column."""
        drawn = context_kinds.KINDS[self.variant][self.regime.contexts](rng, n)
        if self.regime.kind != "hidden":
            return drawn
        hidden = rng.choice([-1.0, 1.0], size=(n, 1))
        return context_kinds.Contexts(drawn.columns, np.hstack([drawn.features, hidden]))

    def seen(self, features):
        """The features without what only the logging policy sees."""
        if self.regime.kind != "hidden":
            return features
        return np.hstack([features[:, :-1], np.zeros((features.shape[0], 1))])

    @cached_property
    def reference(self):
        return self.contexts(self.stream("reference"), REFERENCE).features

    def scores(self, name, form="smooth", actions=None, spread=0.3):
        """Scores that belong to a name, of the functions of this set of designs."""
        rng, count = self.stream("scores", name), actions or self.n_actions
        raw = FORMS[self.variant][form](rng, self.reference.shape[1], count)
        return standardised(raw, self.reference, spread * rng.standard_normal(count))

    @cached_property
    def quality(self):
        """How good each action is in each context: what all have in common, and what tells them apart."""
        form = self.regime.surface
        common, own = self.scores("common", form, actions=1), self.scores("reward", form)
        effect = self.regime.effect
        return lambda features: (
            0.6 * common(features) + 0.8 * effect * own(features) + self._confounder(features)
        )

    def _confounder(self, features):
        return 0.9 * features[:, -1:] if self.regime.kind == "hidden" else 0.0

    @cached_property
    def reward(self):
        return reward_of(self.regime.reward, self.variant)

    @cached_property
    def _logger_scores(self):
        own = self.scores("logger", "rugged" if self.regime.confounded else "smooth")
        if self.regime.confounded:
            return blend([(0.7, self.scores("reward", self.regime.surface)), (0.7, own)])
        if self.regime.kind == "hidden":
            tastes = self.stream("tastes").choice([-1.0, 1.0], size=self.n_actions) * np.linspace(
                0.6, 1.2, self.n_actions
            )
            return lambda features: own(features) + features[:, -1:] * tastes
        return own

    @cached_property
    def logger(self):
        """The true logging policy."""
        given, scores = self.regime.logger, self._logger_scores
        match given:
            case spec.SoftmaxLogger():
                return policies.Softmax(scores, given.sharpness)
            case spec.SmallestLogger():
                return policies.softmax_reaching(given.smallest, scores, self.reference)
            case spec.OpposedLogger():
                return policies.softmax_against(given.share, self._target(0), scores, self.reference)
            case spec.EpsilonLogger():
                return policies.EpsilonGreedy(scores, given.epsilon)
            case spec.UniformLogger():
                return policies.Uniform(self.n_actions)
            case spec.RulesLogger():
                rules = (
                    policies.EpsilonGreedy(scores, 0.0),
                    policies.EpsilonGreedy(self.scores("second rule"), 0.0),
                )
                return policies.Mixture(
                    tuple(zip(given.shares, (*rules, policies.Uniform(self.n_actions)), strict=True))
                )
            case spec.ThompsonLogger():
                errors = given.doubt * self.stream("posterior").standard_normal((100, self.n_actions))
                return policies.Mixture(
                    (
                        (1 - given.epsilon, policies.Posterior(scores, errors)),
                        (given.epsilon, policies.Uniform(self.n_actions)),
                    )
                )
            case spec.CoarseLogger():
                return policies.Coarse(policies.Softmax(scores, given.sharpness), given.step)
            case spec.TailLogger():
                return policies.Softmax(
                    lambda x: 0.4 * scores(x) - given.rate * x[:, :1] * (np.arange(self.n_actions) == 0), 1.0
                )
        raise ValueError(f"no such logger: {given}")

    def _target(self, index):
        given = self.regime.targets[index]
        own = self.scores(f"target {index}")
        follows = blend([(0.6, self.scores("reward", self.regime.surface)), (0.8, own)])
        if getattr(given, "near", 0.0):
            follows = blend([(given.near, self._logger_scores), (1.0, follows)])
        match given:
            case spec.TiltedTarget():
                return policies.tilted_to(given.share, self.logger, follows, self.reference)
            case spec.SoftmaxTarget():
                made = policies.Softmax(follows, given.sharpness)
                return policies.Coarse(made, given.step) if given.step else made
            case spec.GreedyTarget():
                return policies.EpsilonGreedy(follows, given.epsilon)
            case spec.ConstantTarget():
                return policies.Constant(given.action, self.n_actions)
        raise ValueError(f"no such target: {given}")

    @cached_property
    def targets(self):
        """Target policies by name; one that is trained on a log is not among them."""
        trained = spec.TrainedTarget()
        return {f"t{i}": self._target(i) for i, given in enumerate(self.regime.targets) if given != trained}

    def probabilities(self, policy, features):
        return policy(self.seen(features))

    def means(self, features):
        """Mean reward of every action."""
        return self.reward.mean(self.quality(features))

    @cached_property
    def truth(self):
        return self.truth_of(self.targets, self.regime.truth_contexts)

    def truth_of(self, targets, contexts):
        """The values of policies: means over many contexts, the same for all policies, of the mean reward."""
        rng = self.stream("truth")
        blocks = [
            self._block(targets, rng, min(BLOCK, contexts - start)) for start in range(0, contexts, BLOCK)
        ]
        values = np.vstack([values for values, _ in blocks])
        logging, *others = values.mean(axis=0)
        segments = {}
        if self.regime.segments:
            labels = np.concatenate([labels for _, labels in blocks])
            for name, column in zip(targets, (values[:, 1:] - values[:, :1]).T, strict=True):
                segments[name] = {
                    str(label): float(column[labels == label].mean()) for label in np.unique(labels)
                }
        return Truth(
            float(logging),
            {name: float(value) for name, value in zip(targets, others, strict=True)},
            segments,
        )

    def _block(self, targets, rng, n):
        drawn = self.contexts(rng, n)
        means = self.means(drawn.features)
        shares = [
            self.logger(drawn.features),
            *(self.probabilities(policy, drawn.features) for policy in targets.values()),
        ]
        return np.column_stack([(share * means).sum(axis=1) for share in shares]), drawn.columns.get(
            "segment"
        )
