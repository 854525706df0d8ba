"""How good is the estimate recommended? All estimators on the logs of random designs, beside it.

run --set tuning|test [--logs 10] [--out FILE.jsonl] [--minutes M]: draw and evaluate, one log of every design
after another; what is in the file is skipped. --families, --numbers, --without: fewer designs; --quick: see
sketch_of.
table --out FILE.jsonl: errors and coverage by family, beside those without shrinking heavy weights; and, of
quick runs, every estimator beside the one recommended.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np

import kwis
from kwis.checks.verdict import verdict
from kwis.checks.weight import weight_diagnostics
from kwis.estimators.registry import all_estimators, by_name, further_by_name
from kwis.estimators.shrunken import ShrunkenIS
from kwis.evaluation.intervals import Intervals
from kwis.evaluation.measure import logging_policy, measure
from kwis.evaluation.prepare import prepare
from kwis.evaluation.recommend import (
    HEAVY_WEIGHTS,
    has_heavy_weights,
    has_neighbours,
    model_helps,
    recommended,
)
from kwis.evaluation.refit import refitted
from kwis.models.reward import predict_rewards
from kwis.policy.target import resolve_targets
from kwis.runtime.threads import engine
from kwis.sample import effective_size
from tests.statistical.holds.designs import COUNT, SHARES, designs, family_of, number_of
from tests.statistical.holds.logs import draw
from tests.statistical.holds.page import markdown
from tests.statistical.holds.run import read
from tests.statistical.holds.world import World

KINDS = ("clipping", "switch", "shrinkage", "power-mean", "logarithmic-smoothing")


def candidates():
    """Every estimator that is compared, by name."""
    further = further_by_name()
    plain = ["empirical-likelihood", "control-variate"]
    chosen = [further[name] for name in (*plain, *(f"doubly-robust-{name}" for name in plain))]
    chosen.append(kwis.DoublyRobust(kwis.HalfNormalised("clipping")))
    for kind in KINDS:
        for rule in ("slope", "mse"):
            shrunken = ShrunkenIS(kind, rule, normalised=True)
            chosen += [shrunken, kwis.DoublyRobust(ShrunkenIS(kind, rule)), kwis.DoublyRobust(shrunken)]
    return {estimator.name: estimator for estimator in (*all_estimators(), *chosen)}


def record_of(world, seed):
    """One log: the truth, the estimate recommended with interval and verdict, and all others."""
    log = draw(world, seed)
    with warnings.catch_warnings(), patch("kwis.evaluation.flow.paths_of", lambda *_: ()):
        warnings.simplefilter("ignore")
        found = kwis.evaluate(kwis.read_log(log.table, **log.roles), dict(log.targets))
    picked, weights = found.recommendations[0], found.diagnostics["t0"].weights
    best = picked.row
    unshrunk = picked.runner_up if best.estimator in HEAVY_WEIGHTS else best
    estimates = {row.estimator: row.estimate for row in found.rows if row.target == "t0"}
    return {
        **_about(world, seed, log),
        "recommended": best.estimator,
        "value": best.estimate.value,
        "unshrunk": unshrunk.estimate.value,
        "unshrunk_interval": [unshrunk.interval.low, unshrunk.interval.high],
        "low": best.interval.low,
        "high": best.interval.high,
        "verdict": best.verdict.level,
        "effective_n": weights.effective_n,
        "estimates": {name: one.value for name, one in estimates.items()},
    }


def sketch_of(world, seed):
    """All candidates, with the covariances of their errors, so that rules can be tried out on the records;
    without segments, paths and tests that repair does not need. The verdict is that of the weights alone.
    """
    log = draw(world, seed)
    with warnings.catch_warnings(), engine():
        warnings.simplefilter("ignore")
        table = kwis.read_log(log.table, **log.roles)
        ready = prepare(table, resolve_targets(table, dict(log.targets)), propensity_model=None, rng=0)
        ready = ready.repaired("auto").pooled()
        predictions = (predict_rewards(ready.log, 0, None, rng=0),)
        policy = ready.policy(ready.targets[0], predictions)
        measured = refitted(measure(policy, candidates(), ready.log.reward_names))
        logging = logging_policy(ready.logging_samples(), ready.log.reward_names)[0]
    alone = {one.estimate.name: one for one in measured}
    found = {name: one.estimate for name, one in alone.items()}
    sample, explained = policy.samples[0], predictions[0].explained
    isolation = found["normalised-kernel-wis"].isolation
    how = {"near": has_neighbours(isolation), "robust": model_helps(explained)}
    errors = {name: found[name].std_error for name in (*by_name(), *HEAVY_WEIGHTS)}
    shrunk = has_heavy_weights(sample, explained)
    picked, unshrunk = (recommended(errors, heavy=heavy, **how) for heavy in (shrunk, False))
    level = Intervals(method=None, level=0.95, seed=0)
    ends = {name: level.of(alone[name]) for name in (picked, unshrunk)}
    changes = {name: level.of(alone[name].minus(logging)) for name in (picked, unshrunk)}
    influence = np.stack([one.influence for one in found.values()])
    return {
        **_about(world, seed, log),
        "recommended": picked,
        "value": found[picked].value,
        "low": ends[picked].low,
        "high": ends[picked].high,
        "unshrunk": found[unshrunk].value,
        "unshrunk_interval": [ends[unshrunk].low, ends[unshrunk].high],
        "gain": log.truth.targets["t0"] - log.truth.logging,
        "change": [changes[picked].low, changes[picked].high],
        "unshrunk_change": [changes[unshrunk].low, changes[unshrunk].high],
        "verdict": verdict(weight_diagnostics(sample)).level,
        "effective_n": effective_size(sample.weight),
        "explained": explained,
        "isolation": isolation,
        "estimates": {name: one.value for name, one in found.items()},
        "gram": (influence @ influence.T / influence.shape[1] ** 2).tolist(),
    }


def _about(world, seed, log):
    return {
        "regime": world.regime.name,
        "seed": seed,
        "family": family_of(world.regime),
        "truth": log.truth.targets["t0"],
        "scale": float(log.table["reward"].std()),
    }


def run(wanted, variant, logs, out, minutes, quick):
    done = {(one["regime"], one["seed"]) for one in read(out)}
    worlds, end = {}, time.monotonic() + 60 * minutes
    for seed in range(logs):
        for regime in wanted:
            if (regime.few and seed >= max(logs // 5, 1)) or (regime.name, seed) in done:
                continue
            if quick and (regime.n > 2000 or regime.actions > 30):
                continue
            if time.monotonic() > end:
                return
            world = worlds.setdefault(regime.name, World(regime, variant))
            try:
                made = (sketch_of if quick else record_of)(world, seed)
            except kwis.KwisError as refusal:  # such as a target without any weight
                made = {"regime": regime.name, "seed": seed, "refused": str(refusal)}
            with Path(out).open("a") as file:
                file.write(json.dumps(made) + "\n")


def table(records):
    """The estimate recommended against that of the rule that shrinks no weights, by family."""
    head = ["Weights", "Designs", "Logs", "Shrunk", "Error", "Unshrunk", "Ratio", "Value", "Unshrunk"]
    told = [one for one in records if "refused" not in one]
    rows = [_row(name, [one for one in told if one["family"] == name]) for name in families_in(told)]
    return markdown(head, [*rows, _row("all", told)])


def single(records):
    """Every single estimator against the estimate recommended, by family: errors over that of the best of
    them in hindsight.
    """
    told = [one for one in records if "refused" not in one]
    families = families_in(told)
    names = [name for name in told[0]["estimates"] if all(name in one["estimates"] for one in told)]
    errors = {
        name: [_error(told, family, lambda one, name=name: one["estimates"][name]) for family in families]
        for name in names
    }
    best = np.min(list(errors.values()), axis=0)
    shown = {
        "recommended": [_error(told, family, lambda one: one["value"]) for family in families],
        "without shrinking": [_error(told, family, lambda one: one["unshrunk"]) for family in families],
        **dict(sorted(errors.items(), key=lambda item: float(np.mean(item[1] / best)))),
    }
    rows = [
        [name, *(f"{ratio:.2f}" for ratio in (*(found / best), np.mean(found / best)))]
        for name, found in shown.items()
    ]
    return markdown(["Estimate", *families, "Mean"], rows)


def _error(records, family, value):
    squares = [
        ((value(one) - one["truth"]) / one["scale"]) ** 2 for one in records if one["family"] == family
    ]
    return float(np.sqrt(np.mean(squares)))


def changes(records):
    """Differences to the logging policy: how often their intervals hold, and how often they tell policies
    apart, rightly and wrongly; with shrunken weights and without.
    """
    rows = []
    for key in ("change", "unshrunk_change"):
        ends = [(*one[key], one["gain"]) for one in records if "refused" not in one]
        right = sum((low > 0 and gain > 0) or (high < 0 and gain < 0) for low, high, gain in ends)
        wrong = sum(low > 0 or high < 0 for low, high, _ in ends) - right
        held = 100 * np.mean([low <= gain <= high for low, high, gain in ends])
        name = "recommended" if key == "change" else "without shrinking"
        rows.append([name, str(len(ends)), f"{held:.0f}", str(right), str(wrong)])
    return markdown(["Estimate", "Logs", "Difference", "Told apart", "Wrongly"], rows)


def families_in(records):
    return list(dict.fromkeys(one["family"] for one in records))


def _row(name, records):
    error, unshrunk = (
        np.sqrt(np.mean([((one[key] - one["truth"]) / one["scale"]) ** 2 for one in records]))
        for key in ("value", "unshrunk")
    )
    ends = [((one["low"], one["high"]), one["unshrunk_interval"], one["truth"]) for one in records]
    covered = [100 * np.mean([one[i][0] <= one[2] <= one[i][1] for one in ends]) for i in (0, 1)]
    shrunk = sum(one["recommended"] in HEAVY_WEIGHTS for one in records)
    counts = [str(count) for count in (len({one["regime"] for one in records}), len(records), shrunk)]
    errors = [f"{error:.3f}", f"{unshrunk:.3f}", f"{error / unshrunk:.2f}"]
    return [name, *counts, *errors, *(f"{share:.0f}" for share in covered)]


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.statistical.holds.choice", description=__doc__)
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--set", dest="variant", choices=("tuning", "test"), default="test")
    parser.add_argument("--logs", type=int, default=10)
    parser.add_argument("--out", required=True)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--quick", action="store_true", help="all candidates, without tests and repair")
    parser.add_argument("--families", nargs="+", choices=tuple(SHARES), default=tuple(SHARES))
    parser.add_argument("--numbers", nargs=2, type=int, default=(0, COUNT), metavar=("FIRST", "END"))
    parser.add_argument("--without", nargs="+", default=(), metavar="NUMBER", help="designs to leave out")
    given = parser.parse_args(arguments)
    if given.command == "table":
        records = read(given.out)
        print(table(records))
        if any("gram" in one for one in records):
            print(single(records), changes(records), sep="\n\n")
        return
    wanted = [
        regime
        for regime in designs(given.variant)
        if family_of(regime).split(",")[0] in given.families
        and int(number_of(regime)) in range(*given.numbers)
        and number_of(regime) not in given.without
    ]
    run(wanted, given.variant, given.logs, given.out, given.minutes, given.quick)


if __name__ == "__main__":
    main()
