"""
No propensities were logged. Now what?
======================================

kwis estimates them from the context, cross-fitted, and tests them. This is right only if the context holds everything that the logging policy looked at.
"""

import numpy as np

import kwis

rng = np.random.default_rng(1)
n = 2000
x, y = rng.normal(size=(2, n))
treated = rng.random(n) < 1 / (1 + np.exp(-x))
reward = x + 0.5 * treated + rng.normal(size=n)
frame = {"x": x, "y": y, "action": treated.astype(int), "reward": reward}
evaluation = kwis.evaluate(frame, {"treat all": kwis.always(1)}, propensity=False, context=["x", "y"])
print(evaluation.recommended)
print("mean of the treated:", reward[treated].mean().round(3), " truth: 0.5")

# %%
# The treated have larger x, so their mean makes the treatment look better than it is. Estimated propensities against the share that was treated:

evaluation.plot("propensity")
