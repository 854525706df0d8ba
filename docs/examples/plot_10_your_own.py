"""
An estimator and a kernel of your own
=====================================

An estimator is a name and ``estimate(sample)``; a kernel is the logarithm of its profile and its slope.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

import kwis


@dataclass(frozen=True)
class MedianOfMeans:
    """The median of WIS on ten parts of the log."""

    name = "median-of-means"

    def estimate(self, sample):
        parts = [sample.take(rows) for rows in np.array_split(np.arange(sample.n), 10)]
        values = [kwis.WIS().estimate(part).value for part in parts]
        return kwis.Estimate(name=self.name, value=float(np.median(values)), n=sample.n)


rational = kwis.Kernel("rational", lambda q: -np.log1p(q), lambda q: -1 / (1 + q))

rng = np.random.default_rng(5)
x = rng.normal(size=(800, 1))
weight = np.exp(x[:, 0] / 2) * rng.uniform(0.5, 1.5, 800)
sample = kwis.WeightedSample(context=x, weight=weight, reward=x[:, 0] + rng.normal(size=800))
for estimator in (kwis.WIS(), MedianOfMeans(), kwis.KernelWIS("cv", kernel=rational)):
    print(f"{estimator.name:16} {estimator.estimate(sample).value:.3f}")

# %%
# The local mean weight by both kernels.

order = np.argsort(x[:, 0])
for kernel in (kwis.RBF, rational):
    plt.plot(x[order, 0], kwis.kernel_mean(weight, x, bandwidth=0.5, kernel=kernel)[order], label=kernel.name)
plt.legend()
plt.xlabel("context")
plt.ylabel("mean weight")
plt.show()
