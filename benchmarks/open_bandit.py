"""Six values of the Open Bandit Dataset from the other policy's log: python -m benchmarks.open_bandit FOLDER.

The value of each policy in each campaign is known from its own log. Here it is estimated by WIS from the log of the
other policy. Thompson sampling does not look at the user, so its distribution is how often it showed each item in each slot.
"""

from __future__ import annotations

import sys

import numpy as np

import kwis
from kwis.datasets import open_bandit


def shares(log: kwis.LoggedBandit, names: list[object]) -> np.ndarray:
    """``(slots, K)`` how often each of ``names`` was shown in each slot."""
    counts = np.zeros((log.position.max() + 1, len(names)))
    column = np.array([names.index(name) for name in log.action_names])
    np.add.at(counts, (log.position, column[log.action]), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def main(folder: str) -> None:
    print(
        "| value of | campaign | from its own log | from the other log, by WIS | 95 % interval | covered | verdict |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for campaign in ("all", "men", "women"):
        for policy, other in (("bts", "random"), ("random", "bts")):
            own, log = open_bandit(folder, policy, campaign), open_bandit(folder, other, campaign)
            target = (
                kwis.distribution(shares(own, list(log.action_names))[log.position], name=policy)
                if policy == "bts"
                else kwis.uniform()
            )
            row = kwis.evaluate(log, target, estimators=["wis"], repair="never").recommendation().row
            truth, found = float(own.reward.mean()), row.interval
            covered = "yes" if found.low <= truth <= found.high else "no"
            print(
                f"| {policy} | {campaign} | {truth:.4f} | {found.value:.4f} | {found.low:.4f} to {found.high:.4f} "
                f"| {covered} | {row.verdict.level} |"
            )


if __name__ == "__main__":
    main(sys.argv[1])
