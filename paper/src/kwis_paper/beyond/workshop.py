"""What the pipelines of one dataset share: repaired propensities per pair of policies, and a reward model per
logging policy.

Both are fitted on the training log, number 0, and applied to the test rows, whose actions and rewards they
never see.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kwis import make_folds
from kwis.models.reward.models import Lesson, Tried, default_models
from kwis.runtime.threads import each_block
from kwis.typing import Floats, Ints
from kwis_paper import names
from kwis_paper.beyond.columns import LOGGED, REPAIRS
from kwis_paper.grid import Cell
from kwis_paper.policies import Policy, chosen_probability
from kwis_paper.simulate import Laboratory

if TYPE_CHECKING:
    from kwis.models.propensity.repair import RepairModel

PARTS_LEFT_OUT = 5
"""Parts of the training log that the repair is learnt again without."""
_KEPT_PAIRS = 96  # of which a table of (n, K) probabilities is held


class Pair(NamedTuple):
    """Who logged, and whom the log takes for the one that logged."""

    logging: Policy
    behaviour: Policy

    @classmethod
    def of(cls, cell: Cell) -> Pair:
        return cls(cell.logging, cell.behaviour)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repaired:
    """Propensities of one pair after repair.

    Attributes
    ----------
    train, test
        ``(n, K)`` on the training and on the test rows; for a repair that knows the logged action's only,
        ``train`` is empty and ``test`` holds ``(n, test_sets)`` propensities of the actions logged.
    kept
        Whether nothing was found wrong, so that they are as given.
    p_value
        Of the test of fit.
    gain
        By how much the log loss fell on the training log, held out, per row.
    refits
        ``(parts, n, test_sets)`` propensities of the actions logged on the test sets, by the repair learnt
        without each part of the training log; single precision will do for the error they tell. Empty where
        nothing was repaired.
    """

    train: Floats
    test: Floats
    kept: bool
    p_value: float
    gain: float
    refits: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0, 0), dtype=np.float32))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predicted:
    """Rewards of every action predicted from the training log.

    Attributes
    ----------
    test
        ``(n, K)``, on the test rows.
    explained
        Share of the training log's held-out variance.
    """

    test: Floats
    explained: float


class Workshop:
    """Repairs and reward models of one dataset, made when first asked for."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self._repairs: OrderedDict[tuple[Pair, str], Repaired] = OrderedDict()
        self._rewards: dict[Policy, Predicted] = {}

    def prepare(self, pairs: Iterable[Pair], kinds: Iterable[str] = ("all",)) -> None:
        """Fit what is missing for these pairs, several at a time."""
        wanted = [(pair, kind) for pair in dict.fromkeys(pairs) for kind in kinds]
        missing = [one for one in wanted if one not in self._repairs]
        for one in wanted:
            if one in self._repairs:
                self._repairs.move_to_end(one)  # the oldest go first
        for pair, _ in missing:
            # Tables and logs are shared and made on demand, which must not happen twice at once.
            self._test_actions(pair)
            self.laboratory.log(pair.logging, 0)
            self.laboratory.probabilities(pair.behaviour)
        for one, repaired in zip(missing, each_block(lambda one: self._fit(*one), missing), strict=True):
            self._repairs[one] = repaired
        while len(self._repairs) > max(_KEPT_PAIRS, len(wanted)):
            self._repairs.popitem(last=False)

    def repair(self, pair: Pair, kind: str = "all") -> Repaired:
        """Repaired propensities of a pair, by the whole repair or a part of it."""
        self.prepare([pair], [kind])
        return self._repairs[pair, kind]

    def rewards(self, logging: Policy) -> Predicted:
        """Predicted rewards, learnt from what a policy logged on the training rows."""
        if logging not in self._rewards:
            laboratory = self.laboratory
            log = laboratory.log(logging, 0)
            rng = names.stream(laboratory.dataset.name, "reward-model", logging.name)
            context, count = laboratory.train_context, laboratory.dataset.n_actions
            n, features = context.shape
            folds, lesson = make_folds(n, 5, rng), Lesson.of(context, log.action, log.reward, count)
            candidates = default_models(n, features, count)
            tried = Tried.of(lesson, candidates, folds)
            at_test = lesson.learnt(candidates[tried.best], np.arange(n), laboratory.test_context)
            self._rewards[logging] = Predicted(test=at_test, explained=tried.explained)
        return self._rewards[logging]

    def _fit(self, pair: Pair, kind: str) -> Repaired:
        if kind == LOGGED:
            return self._fit_logged(pair)
        from kwis.models.propensity.repair import TERMS, fit_repair

        laboratory = self.laboratory
        given, (train, test) = laboratory.probabilities(pair.behaviour), laboratory.rows
        terms = TERMS if kind == "all" else REPAIRS[kind]
        action = laboratory.log(pair.logging, 0).action
        parts = PARTS_LEFT_OUT if kind == "all" else 0
        model = fit_repair(
            laboratory.train_context, action, given[train], terms=terms, parts=parts, rng=self._seed(pair)
        )
        if model.kept:
            return _repaired(model, given[train], given[test])
        at_train = model.distribution(laboratory.train_context, given[train])
        made = _repaired(model, at_train, model.distribution(laboratory.test_context, given[test]))
        return replace(made, refits=self._refits(pair, model, given[test])) if parts else made

    def _refits(self, pair: Pair, model: RepairModel, given: Floats) -> NDArray[np.float32]:
        logged = self._test_actions(pair)
        tables = [one.distribution(self.laboratory.test_context, given) for one in model.refits]
        return np.stack([np.take_along_axis(table, logged, axis=1) for table in tables]).astype(np.float32)

    def _test_actions(self, pair: Pair) -> Ints:
        """``(n, test_sets)`` actions logged on the test sets."""
        sets = range(1, self.laboratory.design.test_sets + 1)
        return np.stack([self.laboratory.log(pair.logging, number).action for number in sets], axis=1)

    def _fit_logged(self, pair: Pair) -> Repaired:
        from kwis.models.propensity.repair_logged import fit_repair_logged

        laboratory = self.laboratory
        given, (train, test) = laboratory.probabilities(pair.behaviour), laboratory.rows
        action = laboratory.log(pair.logging, 0).action
        n_actions = laboratory.dataset.n_actions
        known = chosen_probability(given[train], action)
        model = fit_repair_logged(laboratory.train_context, action, known, n_actions, rng=self._seed(pair))
        logged = self._test_actions(pair).T
        columns = [
            model.propensity(laboratory.test_context, taken, chosen_probability(given[test], taken))
            for taken in logged
        ]
        return _repaired(model, np.empty((0, 0)), np.stack(columns, axis=1))

    def _seed(self, pair: Pair) -> int:
        return (
            names.seed(self.laboratory.dataset.name, "repair", pair.logging.name, pair.behaviour.name) % 2**32
        )


def _repaired(model: Any, train: Floats, test: Floats) -> Repaired:
    return Repaired(
        train=train,
        test=test,
        kept=bool(model.kept),
        p_value=float(model.p_value),
        gain=float(model.log_loss_before - model.log_loss_after),
    )
