"""
A recommender with candidate sets
=================================

Each row has its own set of items to choose from. Only one in ten rows without a click was kept, so each of those stands for ten.
"""

import numpy as np

import kwis

rng = np.random.default_rng(2)
n, items = 20000, 8
taste = rng.normal(size=n)
offered = np.array([rng.choice(items, 4, replace=False) for _ in range(n)])
score = np.cos(offered + taste[:, None])
old = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
new = np.exp(3 * score) / np.exp(3 * score).sum(axis=1, keepdims=True)
slot = (old.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=3)
row = np.arange(n)
click = (rng.random(n) < 0.05 + 0.05 * (score[row, slot] > 0)).astype(float)
kept = (click == 1) | (rng.random(n) < 0.1)
frame = {
    "item": offered[row, slot][kept],
    "items": ["|".join(map(str, line)) for line in offered[kept]],
    "p": old[row, slot][kept],
    "p_new": new[row, slot][kept],
    "taste": taste[kept],
    "click": click[kept],
    "stands_for": np.where(click == 1, 1.0, 10.0)[kept],
}
evaluation = kwis.evaluate(
    frame,
    "p_new",
    action="item",
    reward="click",
    propensity="p",
    candidates="items",
    context=["taste"],
    row_weight="stands_for",
)
print(evaluation.recommended)
truth = (new * (0.05 + 0.05 * (score > 0))).sum(axis=1).mean()
print(f"truth {truth:.4f}")

# %%

evaluation.plot("forest")
