"""
What does an A/B test say about everybody?
==========================================

Half and half, so every propensity is 0.5, and no column is needed. "B for everybody" is a policy like any other; so is "B for those above forty".
"""

import numpy as np

import kwis

rng = np.random.default_rng(0)
n = 3000
age = rng.integers(18, 70, n)
arm = rng.choice(["A", "B"], n)
chance = 0.10 + 0.06 * (arm == "B") * (age > 40)
frame = {"age": age, "arm": arm, "bought": (rng.random(n) < chance).astype(float)}
evaluation = kwis.evaluate(
    frame,
    {
        "all A": kwis.always("A"),
        "all B": kwis.always("B"),
        "B above 40": kwis.chosen(lambda log: np.where(log["age"] > 40, "B", "A")),
    },
    action="arm",
    reward="bought",
    propensity=0.5,
    propensity_source="randomiser",
    context=["age"],
)
print(evaluation)

# %%
# The truth is 0.100 for A; for B it is 0.06 more above forty.

evaluation.plot("forest")
