"""Logs of every kind, drawn at random: what the choice of the estimator is made with and tested on.

A design is a regime whose parts are drawn from its number: contexts, 2 to 200 actions, the reward, how heavy
the weights are, how actions were logged, which propensities are reported and in what way they are wrong, and
200 to 20,000 rows. A hash of the name says whether a design is for making the rule or for testing it; either
set has its own functions and distributions, as all regimes have.

Designs for testing are looked at once. Those with numbers below 3080 have been, with earlier rules; the rule
of today is tested on numbers from 3080, of which none that is for testing was drawn before it was frozen.
"""

import hashlib

from tests.statistical.holds import spec
from tests.statistical.holds.misreports import MISREPORTS
from tests.statistical.holds.names import stream

COUNT = 3640
SHARES = {"mild": 0.7, "moderate": 0.35, "heavy": 0.1, "enormous": 0.02}
"""Effective share of the rows, in a large log, by how heavy the weights are."""
ROWS = {200: 0.2, 500: 0.3, 1000: 0.2, 2000: 0.2, 5000: 0.09, 20_000: 0.01}
ACTIONS = {2: 0.2, 3: 0.2, 5: 0.25, 10: 0.2, 30: 0.1, 100: 0.03, 200: 0.02}
REWARDS = {"binary": 0.35, "gaussian": 0.2, "clicks": 0.15, "revenue": 0.15, "costs": 0.15}
LOGGERS = {
    "softmax": spec.SoftmaxLogger(1.0),
    "epsilon-greedy": spec.EpsilonLogger(0.2),
    "Thompson": spec.ThompsonLogger(),
    "rules": spec.RulesLogger(),
    "opposed": None,
}
WRONG = 1 / 3


def variant_of(name):
    """Whether a design is for making the rule (``tuning``) or for testing it (``test``)."""
    return ("tuning", "test")[hashlib.sha256(name.encode()).digest()[0] % 2]


def family_of(regime):
    """The family that results are shown by: how heavy the weights are, and whether propensities are right."""
    return f"{regime.name.split()[1]}, {'wrong' if regime.kind == 'misreport' else 'right'}"


def number_of(regime):
    """The number of a design, as its name has it: ``"007"``."""
    return regime.name.split()[0].removeprefix("design/")


def _drawn(rng, options):
    """One of the options by their shares, or any of a list."""
    if not isinstance(options, dict):
        return options[rng.integers(len(options))]
    return list(options)[rng.choice(len(options), p=list(options.values()))]


def design(number):
    """The design of a number."""
    rng = stream("design", number)
    weights, logging = _drawn(rng, list(SHARES)), _drawn(rng, list(LOGGERS))
    share = SHARES[weights]
    logger, target = LOGGERS[logging], spec.TiltedTarget(share)
    if logging == "opposed":
        logger, target = spec.OpposedLogger(share), spec.GreedyTarget(epsilon=float(_drawn(rng, [0.0, 0.2])))
    n, actions, reward = _drawn(rng, ROWS), _drawn(rng, ACTIONS), _drawn(rng, REWARDS)
    wrong = _drawn(rng, list(MISREPORTS)) if rng.random() < WRONG else ""
    given = "logged" if wrong == "clipped" or rng.random() < 0.3 else "all"
    return spec.Regime(
        name=f"design/{number:03d} {weights} {logging} {reward} K{actions} n{n}{' ' if wrong else ''}{wrong}",
        kind="misreport" if wrong else "right",
        n=n,
        actions=actions,
        contexts=_drawn(rng, ["numbers", "mixed", "grid"]),
        surface=_drawn(rng, ["smooth", "rugged"]),
        effect=float(_drawn(rng, [0.3, 1.0])),
        reward=reward,
        logger=logger,
        targets=(target,),
        confounded=bool(rng.random() < 0.4) and logging != "opposed",
        given=given,
        misreport=wrong,
        few=n > 5000,
        truth_contexts=100_000,
    )


def designs(variant):
    """The designs of one set."""
    found = [design(number) for number in range(COUNT)]
    return [regime for regime in found if variant_of(regime.name) == variant]
