"""
Can an LLM router send more to the small model?
===============================================

The router drew a model at random and logged the probability. A thriftier policy should cut cost and latency, where lower is better, without losing quality.
"""

import numpy as np

import kwis

rng = np.random.default_rng(3)
n = 2500
difficulty = rng.random(n)
p_large = 0.2 + 0.6 * difficulty
large = rng.random(n) < p_large
quality = (rng.random(n) < np.where(large, 0.9, 0.9 - 0.5 * difficulty)).astype(float)
cost = np.where(large, 1.0, 0.1) * rng.lognormal(0, 0.3, n)
latency = np.where(large, 2.0, 0.5) * rng.lognormal(0, 0.3, n)
p_new = np.where(difficulty > 0.7, 0.9, 0.1)
frame = {
    "model": np.where(large, "large", "small"),
    "difficulty": difficulty,
    "p": np.where(large, p_large, 1 - p_large),
    "p_thrifty": np.where(large, p_new, 1 - p_new),
    "quality": quality,
    "cost": cost,
    "latency": latency,
}
roles = {
    "action": "model",
    "reward": ["quality", "cost", "latency"],
    "context": ["difficulty"],
    "lower_is_better": ["cost", "latency"],
}
evaluation = kwis.evaluate(frame, "p_thrifty", propensity="p", propensity_source="randomiser", **roles)
print(evaluation)

# %%
# Some routers log 1/n as a probability whatever they do. The actions contradict it, and the answer says so:

claimed = kwis.evaluate(frame, "p_thrifty", propensity=0.5, **roles)
print(claimed.propensity.verdict)

# %%

evaluation.plot("forest")
