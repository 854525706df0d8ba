"""
What does an A/B test say about everybody?
==========================================

Each visitor got A or B with probability 0.5, so ``propensity=0.5`` says it all. "B for everybody" is a policy, and so is "B for those above forty".
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
# The true chance of a purchase is 0.10, and 0.16 for B above forty.

evaluation.plot("forest")
