"""Slow twin of the check of training: every mean and every distance written out."""

from __future__ import annotations

import math


def training_figures(features, action, reward, predicted, distribution, together, neighbours=10):
    """``z`` and ``pull`` row by row; rows that belong together are one draw."""
    n = len(action)
    terms, lucks = [], []
    for i in range(n):
        others = sorted(
            (j for j in range(n) if j != i),
            key=lambda j: sum((a - b) ** 2 for a, b in zip(features[i], features[j], strict=True)),
        )
        own = distribution[i][action[i]]
        around = [distribution[j][action[i]] for j in others[:neighbours]]
        luck = reward[i] - predicted[i]
        terms.append((own - sum(around) / neighbours) * luck)
        lucks.append(luck)
    sums = {}
    for label, term in zip(together, terms, strict=True):
        sums[label] = sums.get(label, 0.0) + term
    spread = math.sqrt(sum(total**2 for total in sums.values()))
    scale = math.sqrt(sum(luck**2 for luck in lucks) / n)
    return sum(terms) / spread, sum(terms) / n / scale
