"""From a dataset and a cell to the arrays of one experiment.

A :class:`Laboratory` holds what the cells of a dataset share: the split, the policies and what each logging
policy logged. A log depends on the dataset, the logging policy and the number of the repetition alone, so
cells that differ in the policy evaluated or in the behaviour policy see the same actions and rewards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kwis._validation import read_only
from kwis.runtime.threads import each_block
from kwis.typing import Floats, Ints
from kwis_paper import misreports, names
from kwis_paper.ascent import SETUPS, LoggedActions, Setup, Training, ascend, batch_orders
from kwis_paper.datasets import Dataset
from kwis_paper.grid import Cell, bucket
from kwis_paper.paper_intervals import drawn_counts
from kwis_paper.policies import (
    Ascent,
    Classifier,
    Explorer,
    Gibbs,
    Greedy,
    Misreported,
    Policy,
    Trained,
    chosen_probability,
    sample_actions,
)
from kwis_paper.rewards import Noise, Rewards, Rule, continuous, single_action
from kwis_paper.training import TrainedClassifier, softmax, train_classifier
from kwis_paper.vae import Autoencoder, train_autoencoder

_ONE_LOG = Gibbs((0,), 0.5)  # what IW and SNIW policies are trained on if they are trained once
_TABLES_KEPT = 64  # of trained policies: each serves one pair of logging and behaviour policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What the paper leaves open about its experiments, as inferred from its numbers.

    Attributes
    ----------
    test_share
        Share of the rows that estimates are made on; the bandwidth is chosen on the others.
    test_sets
        Times the actions and rewards of the test rows are simulated anew.
    folds
        Folds of the cross-validation that chooses the bandwidth.
    rule, noise
        Continuous rewards: see :func:`kwis_paper.rewards.continuous`.
    training
        IW and SNIW policies are trained on the log of every pair of logging and behaviour policy
        (``per-log``), or ``once`` per dataset, as an earlier version had it: see :mod:`kwis_paper.ascent`.
    """

    test_share: float = 0.25
    test_sets: int = 9
    folds: int = 5
    rule: Rule = "distance"
    noise: Noise = "flip"
    training: Training = "per-log"


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """What a logging policy did on some rows, and what it earned."""

    action: Ints
    reward: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Experiment:
    """The arrays of one cell.

    Attributes
    ----------
    train_context, train_weight
        What the bandwidth is chosen on.
    context, weight, reward
        ``(n, d)``, ``(n, test_sets)`` and ``(n, test_sets)``: the test rows and their re-simulated logs.
    published, expected
        Value of the evaluation policy on the test rows, without and with the noise of the rewards.
    difference
        ``|V(evaluation) - V(logging)|`` on all rows, which decides the bucket.
    bandwidth
        Shared bandwidth chosen on the training rows, once it is known.
    """

    cell: Cell
    train_context: Floats
    train_weight: Floats
    context: Floats
    weight: Floats
    reward: Floats
    published: float
    expected: float
    difference: float
    bandwidth: float | None = None

    @property
    def bucket(self) -> str:
        return bucket(self.difference)


class Laboratory:
    """Everything the cells of one dataset share, made when first asked for."""

    def __init__(self, dataset: Dataset, design: Design | None = None, setup: Setup | None = None) -> None:
        self.dataset = dataset
        self.design = design or Design()
        self._setup = setup or SETUPS[self.design.training]
        self._tables: dict[Policy, Floats] = {}
        self._parameters: dict[Trained, Floats] = {}
        self._classifiers: dict[str, TrainedClassifier] = {}
        self._logs: dict[tuple[Policy, int], Log] = {}
        self._values: dict[tuple[Policy, str], float] = {}

    @cached_property
    def rows(self) -> tuple[Ints, Ints]:
        """Training and test rows."""
        n = self.dataset.n
        order = self._stream("split", self.design.test_share).permutation(n)
        held_out = math.ceil(self.design.test_share * n)
        return read_only(np.sort(order[held_out:])), read_only(np.sort(order[:held_out]))

    @cached_property
    def train_context(self) -> Floats:
        return read_only(self.dataset.context[self.rows[0]])

    @cached_property
    def test_context(self) -> Floats:
        return read_only(self.dataset.context[self.rows[1]])

    @cached_property
    def fold_labels(self) -> Ints:
        """Folds of the training rows, the same for every cell, so that one pass over the contexts serves them
        all.
        """
        n = self.rows[0].size
        return read_only(
            self._stream("folds", self.design.folds).permutation(np.arange(n) % self.design.folds)
        )

    @cached_property
    def resamples(self) -> Floats:
        """Resamples of the test rows for the paper's own intervals, the same for every cell."""
        return drawn_counts(self.rows[1].size, self._stream("resamples"))

    @cached_property
    def autoencoder(self) -> Autoencoder | None:
        """Trained for continuous rewards only."""
        pixels = self.dataset.pixels
        if self.dataset.name != "optdigitsDist" or pixels is None:
            return None
        return train_autoencoder(pixels / pixels.max(), *self.rows, self._stream("autoencoder"))

    @cached_property
    def rewards(self) -> Rewards:
        data = self.dataset
        if self.autoencoder is None:
            return single_action(data.label, data.n_actions)
        return continuous(self.autoencoder, data.label, data.n_actions, self.design.rule, self.design.noise)

    def classifier(self, architecture: str) -> TrainedClassifier:
        """Trained classifier of the given architecture."""
        if architecture not in self._classifiers:
            data = self.dataset
            rng = self._stream("classifier", architecture)
            self._classifiers[architecture] = train_classifier(
                data.name, architecture, data.context, data.label, self.rows[0], rng
            )
        return self._classifiers[architecture]

    def probabilities(self, policy: Policy) -> Floats:
        """``(n, n_actions)`` probabilities of every action in every row."""
        if policy not in self._tables:
            if isinstance(policy, Trained):
                self._forget_tables()
            self._tables[policy] = read_only(self._probabilities(policy))
        return self._tables[policy]

    def _forget_tables(self) -> None:
        """Drop the oldest tables of trained policies: there are thousands, and parameters make them anew."""
        trained = [policy for policy in self._tables if isinstance(policy, Trained)]
        for policy in trained[: max(len(trained) - _TABLES_KEPT + 1, 0)]:
            del self._tables[policy]

    def target(self, cell: Cell) -> Floats:
        """``(n, n_actions)`` probabilities of the policy that a cell evaluates."""
        return self.probabilities(self.evaluated(cell))

    def evaluated(self, cell: Cell) -> Policy:
        """The policy that a cell evaluates: IW and SNIW stand for one trained on a log."""
        if not isinstance(cell.evaluation, Ascent):
            return cell.evaluation
        if self.design.training == "once":
            return Trained(cell.evaluation, _ONE_LOG, _ONE_LOG)
        return Trained(cell.evaluation, cell.logging, cell.behaviour)

    def train(self, cells: Sequence[Cell]) -> int:
        """Train the IW and SNIW policies of these cells, several at once; returns how many."""
        wanted = dict.fromkeys(self.evaluated(cell) for cell in cells)
        todo = [policy for policy in wanted if isinstance(policy, Trained) and policy not in self._parameters]
        logs = [self._training_log(policy) for policy in todo]
        found = each_block(lambda pair: self._ascend(*pair), zip(todo, logs, strict=True))
        self._parameters.update(zip(todo, found, strict=True))
        return len(todo)

    def _probabilities(self, policy: Policy) -> Floats:
        data = self.dataset
        if isinstance(policy, Gibbs | Greedy):
            return policy.probabilities(data.label, data.n_actions)
        if isinstance(policy, Classifier):
            trained = self.classifier(policy.architecture)
            return trained.early if policy.stage == "early" else trained.late
        if isinstance(policy, Explorer):
            return misreports.explored(self.classifier(policy.architecture).late, policy.share)
        if isinstance(policy, Misreported):
            return self._misreported(policy.how, policy.degree, policy.of)
        assert isinstance(policy, Trained)  # an Ascent without a log is no policy yet
        if policy not in self._parameters:
            self._parameters[policy] = self._ascend(policy, self._training_log(policy))
        return softmax(self._policy_context @ self._parameters[policy] / policy.ascent.temperature)

    def _misreported(self, how: str, degree: float, of: Gibbs | Explorer) -> Floats:
        rng = self._stream(how, degree, of.name)
        if how == "rounded":
            return misreports.rounded(self.probabilities(of), degree)
        if how == "tempered":
            return misreports.tempered(self.probabilities(of), degree)
        if how == "fitted":
            action, data = self.log(of, 0).action, self.dataset
            return misreports.fitted(data.context, self.rows, action, data.n_actions, 1 - degree, rng)
        assert isinstance(of, Explorer)  # the others change the classifier or what it sees
        trained = self.classifier(of.architecture)
        if how == "stale":
            return misreports.explored(trained.behind(degree), of.share)
        return misreports.explored(
            trained.at(misreports.without_columns(self.dataset.context, degree, rng)), of.share
        )

    def _training_log(self, policy: Trained) -> LoggedActions:
        log, train = self.log(policy.logging, 0), self.rows[0]
        propensity = chosen_probability(self.probabilities(policy.behaviour)[train], log.action)
        return LoggedActions(
            context=self._policy_context[train], action=log.action, propensity=propensity, reward=log.reward
        )

    @cached_property
    def _policy_context(self) -> Floats:
        """What IW and SNIW policies see of all rows."""
        context = self.dataset.context
        if self.dataset.levels is None or not self._setup.indicators:
            return context
        low, high = context.min(axis=0), context.max(axis=0)
        return read_only((context - low) / np.where(high > low, high - low, 1.0))

    def _ascend(self, policy: Trained, logged: LoggedActions) -> Floats:
        return ascend(policy.ascent, logged, self.dataset.n_actions, self._setup, self._batch_orders)

    @cached_property
    def _batch_orders(self) -> Ints:
        return batch_orders(self.rows[0].size, self._setup, self._stream("ascent"))

    def log(self, policy: Policy, number: int) -> Log:
        """What ``policy`` logged: on the training rows for number 0, on the test rows for 1 to
        ``test_sets``.
        """
        key = (policy, number)
        if key not in self._logs:
            rows = self.rows[min(number, 1)]
            rng = self._stream("log", policy.name, number)
            action = sample_actions(self.probabilities(policy)[rows], rng.random(rows.size))
            self._logs[key] = Log(action, self.rewards.observed(rows, action, rng.random(rows.size)))
        return self._logs[key]

    def weight(self, cell: Cell, number: int) -> Floats:
        """Importance weights of a cell on what its logging policy logged."""
        rows = self.rows[min(number, 1)]
        action = self.log(cell.logging, number).action
        return self.target(cell)[rows, action] / self.probabilities(cell.behaviour)[rows, action]

    def train_weights(self, cells: Sequence[Cell]) -> Floats:
        """``(training rows, cells)`` weights that bandwidths are chosen for."""
        return np.stack([self.weight(cell, 0) for cell in cells], axis=1)

    def value(self, policy: Policy, part: str = "all") -> float:
        """Value of a policy without noise, on ``all`` rows or on the ``test`` rows."""
        key = (policy, part)
        if key not in self._values:
            rows = np.arange(self.dataset.n) if part == "all" else self.rows[1]
            self._values[key] = self.rewards.value(self.probabilities(policy), rows)
        return self._values[key]

    def experiment(self, cell: Cell) -> Experiment:
        """The arrays of one cell."""
        numbers = range(1, self.design.test_sets + 1)
        evaluated = self.evaluated(cell)
        published = self.value(evaluated, "test")
        return Experiment(
            cell=cell,
            train_context=self.train_context,
            train_weight=self.weight(cell, 0),
            context=self.test_context,
            weight=np.stack([self.weight(cell, number) for number in numbers], axis=1),
            reward=np.stack([self.log(cell.logging, number).reward for number in numbers], axis=1),
            published=published,
            expected=float(self.rewards.expected(published)),
            difference=abs(self.value(evaluated) - self.value(cell.logging)),
        )

    def curves(self) -> dict[str, Floats]:
        """What the figures need of all that was trained so far: curves of training, continuous rewards,
        sample pictures.
        """
        found: dict[str, Floats] = {}
        for architecture, trained in self._classifiers.items():
            found[f"{architecture}/accuracy"] = trained.accuracy
            found[f"{architecture}/epochs"] = np.array(
                [trained.early_epoch, trained.late_epoch], dtype=np.float64
            )
        if self.autoencoder is not None:
            for name in (
                "train_reconstruction",
                "train_divergence",
                "test_reconstruction",
                "test_divergence",
            ):
                found[f"autoencoder/{name}"] = getattr(self.autoencoder, name)
            found |= self._pictures()
        return found

    def _pictures(self) -> dict[str, Floats]:
        """Mean reward of every action by the right one, and two pictures each of the digits the
        paper shows.
        """
        label, pixels = self.dataset.label, self.dataset.pixels
        mean = np.stack(
            [self.rewards.table[label == right].mean(axis=0) for right in range(self.dataset.n_actions)]
        )
        rng = self._stream("pictures")
        assert pixels is not None
        picked = {
            f"pictures/{digit}": pixels[rng.choice(np.flatnonzero(label == digit), 2, replace=False)]
            for digit in (3, 6, 9)
        }
        return {"rewards": mean.ravel()} | {name: values.ravel() for name, values in picked.items()}

    def _stream(self, *what: str | int | float) -> np.random.Generator:
        return names.stream(self.dataset.name, *what)
