"""How often intervals hold the truth: ``python -m tests.statistical.coverage`` prints the table."""

import sys
from collections import defaultdict

import numpy as np

import kwis
from kwis.estimators import Difference, PairedSample
from kwis.intervals import endpoints
from kwis.runtime.threads import engine
from kwis.stats.influence import draw_sums
from tests.statistical.bandits import Bandit

LEVEL = 0.95
MILD, HEAVY, STATES, USERS = Bandit(), Bandit(sharpness=2.2), Bandit(states=3), Bandit(users=5)
FIXED = (
    kwis.VIS(),
    kwis.TruncatedVIS(),
    kwis.WIS(),
    kwis.KernelWIS(0.4),
    kwis.KernelWIS(0.4, normalised=True),
)
SMOOTH = (*FIXED, kwis.KernelWIS("cv", normalised=True))
SETTINGS = {
    "mild": (MILD, SMOOTH),
    "heavy": (HEAVY, SMOOTH),
    "users": (USERS, (kwis.WIS(), kwis.KernelWIS(0.4, normalised=True))),
    "states": (STATES, (kwis.StateWIS(), kwis.StateWIS(normalised=True))),
}
COLUMNS = ("bca", "percentile", "studentised", "influence", "bernstein", "bias/sd")


def all_intervals(estimator, sample, replicates, seed):
    """Every interval of an estimator; the three bootstraps read the same distribution, as the same seed would
    give them.
    """
    if getattr(estimator, "selects_bandwidth", False):
        estimator = estimator.held(sample)
    drawn = kwis.Bootstrap(replicates, "studentised").interval(estimator, sample, LEVEL, rng=seed)
    estimate = estimator.estimate(sample)
    acceleration = endpoints.acceleration_of(draw_sums(estimate.influence, sample.group))
    influence = kwis.InfluenceInterval().interval(estimator, sample, LEVEL)
    return drawn.value, {
        "bca": endpoints.bca(drawn.distribution, drawn.value, acceleration, LEVEL),
        "percentile": endpoints.percentile(drawn.distribution, LEVEL),
        "studentised": (drawn.low, drawn.high),
        "influence": (influence.low, influence.high),
    }


def title(estimator):
    return estimator.name + (" cv" if getattr(estimator, "selects_bandwidth", False) else "")


def study(setting, simulations, n, replicates, estimators=None):
    """Share of simulations in which each interval held the truth, by estimator."""
    bandit, usual = SETTINGS[setting]
    truth, bound = bandit.value(), bandit.largest_weight()
    held, values = defaultdict(lambda: defaultdict(int)), defaultdict(list)
    for seed in range(simulations):
        (sample,) = bandit.sample(n, np.random.default_rng([simulations, seed]))
        for estimator in estimators or usual:
            value, intervals = all_intervals(estimator, sample, replicates, seed)
            if estimator == kwis.VIS():
                interval = kwis.EmpiricalBernstein(bound=(0, bound)).interval(estimator, sample, LEVEL)
                intervals["bernstein"] = (interval.low, interval.high)
            values[title(estimator)].append(value)
            for name, (low, high) in intervals.items():
                held[title(estimator)][name] += low <= truth <= high
    table = {
        name: {method: count / simulations for method, count in counts.items()}
        for name, counts in held.items()
    }
    for name, found in values.items():
        table[name]["bias/sd"] = (np.mean(found) - truth) / np.std(found)
    return table


def difference_study(simulations, n, replicates):
    """The same for the difference of two policies on the same rows."""
    truth = MILD.value("evaluated") - MILD.value("other")
    held = defaultdict(int)
    for seed in range(simulations):
        pair = MILD.sample(n, np.random.default_rng([simulations, seed]), ("evaluated", "other"))
        _, intervals = all_intervals(
            Difference(kwis.WIS(), kwis.WIS()), PairedSample(*pair), replicates, seed
        )
        for name, (low, high) in intervals.items():
            held[name] += low <= truth <= high
    return {"difference of wis": {name: count / simulations for name, count in held.items()}}


def show(heading, table):
    print(f"\n{heading}")
    print(f"  {'':26s}" + "".join(f"{column:>12s}" for column in COLUMNS))
    for name, row in table.items():
        cells = [
            "" if c not in row else f"{row[c]:+.2f}" if c == "bias/sd" else f"{100 * row[c]:.1f} %"
            for c in COLUMNS
        ]
        print(f"  {name:26s}" + "".join(f"{cell:>12s}" for cell in cells))


def main(simulations, n=300, replicates=500):
    with engine():  # one pool of threads for all the small samples
        return _main(simulations, n, replicates)


def _main(simulations, n, replicates):
    tables = {}
    for setting, (bandit, _) in SETTINGS.items():
        tables[setting] = study(setting, simulations, n, replicates)
        show(
            f"{setting}: n={n}, largest weight {bandit.largest_weight():.1f}, {simulations} simulations, "
            f"level {LEVEL:.0%}",
            tables[setting],
        )
    tables["difference"] = difference_study(simulations, n, replicates)
    show("difference of two policies, mild", tables["difference"])
    return tables


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
