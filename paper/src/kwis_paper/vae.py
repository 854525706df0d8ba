"""A small variational autoencoder in plain numpy, for the continuous rewards of section 3.2.5.

The paper took its network from a public example for handwritten digits (Francis, 2023), and these are the
sizes of that example: one hidden layer of 128 units on either side of a latent space of 8, hyperbolic
tangents, batches of 32, Adam with a step of 0.002, 19 epochs. Bernoulli reconstruction; a few seconds on one
core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.typing import Floats, Ints
from kwis_paper.optimise import Adam, Parameters, one_blas_thread

HIDDEN = 128
LATENT = 8
EPOCHS = 19
BATCH = 32
STEP = 2e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Autoencoder:
    """A trained encoder seen through its output, with the curves of its training.

    Attributes
    ----------
    latent
        ``(n, LATENT)`` mean of the code of every row.
    train_reconstruction, train_divergence, test_reconstruction, test_divergence
        ``(EPOCHS,)`` reconstruction error and Kullback-Leibler divergence per row, in nats, after each epoch.
    """

    latent: Floats
    train_reconstruction: Floats
    train_divergence: Floats
    test_reconstruction: Floats
    test_divergence: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """One batch through the network, with what its gradient needs."""

    inputs: Floats
    encoded: Floats
    mean: Floats
    log_variance: Floats
    noise: Floats
    code: Floats
    decoded: Floats
    logits: Floats

    def losses(self) -> tuple[float, float]:
        """Reconstruction error and divergence, summed over rows."""
        reconstruction = np.logaddexp(0.0, self.logits) - self.inputs * self.logits
        divergence = 0.5 * (self.mean**2 + np.exp(self.log_variance) - 1.0 - self.log_variance)
        return float(reconstruction.sum()), float(divergence.sum())


@one_blas_thread
def train_autoencoder(pixels: Floats, train: Ints, test: Ints, rng: np.random.Generator) -> Autoencoder:
    """Train on the rows ``train``, follow the losses on both parts, and encode all rows; ``pixels`` lie in
    [0, 1].
    """
    d = pixels.shape[1]
    parameters = Parameters.of([(d, HIDDEN), (HIDDEN, 2 * LATENT), (LATENT, HIDDEN), (HIDDEN, d)], rng)
    optimiser = Adam(parameters, STEP)
    curves = np.empty((EPOCHS, 4))
    for epoch in range(EPOCHS):
        order = rng.permutation(train)
        for start in range(0, order.size, BATCH):
            batch = pixels[order[start : start + BATCH]]
            optimiser.step(_gradient(parameters, _forward(parameters, batch, rng)))
        for part, rows in enumerate((train, test)):
            losses = _forward(parameters, pixels[rows], rng).losses()
            curves[epoch, 2 * part : 2 * part + 2] = np.array(losses) / rows.size
    (inner, inner_bias), (outer, outer_bias) = parameters.layers[:2]
    latent = np.tanh(pixels @ inner + inner_bias) @ outer[:, :LATENT] + outer_bias[:LATENT]
    return Autoencoder(
        latent=latent,
        train_reconstruction=curves[:, 0],
        train_divergence=curves[:, 1],
        test_reconstruction=curves[:, 2],
        test_divergence=curves[:, 3],
    )


def _forward(parameters: Parameters, inputs: Floats, rng: np.random.Generator) -> _Pass:
    (w1, b1), (w2, b2), (w3, b3), (w4, b4) = parameters.layers
    encoded = np.tanh(inputs @ w1 + b1)
    moments = encoded @ w2 + b2
    mean, log_variance = moments[:, :LATENT], moments[:, LATENT:]
    noise = rng.standard_normal(mean.shape)
    code = mean + np.exp(0.5 * log_variance) * noise
    decoded = np.tanh(code @ w3 + b3)
    return _Pass(inputs, encoded, mean, log_variance, noise, code, decoded, decoded @ w4 + b4)


def _gradient(parameters: Parameters, seen: _Pass) -> Floats:
    """Gradient of the mean loss of the batch, laid out like the parameters."""
    _, (w2, _), (w3, _), (w4, _) = parameters.layers
    size = seen.inputs.shape[0]
    to_logits = (1.0 / (1.0 + np.exp(-seen.logits)) - seen.inputs) / size
    to_decoded = (to_logits @ w4.T) * (1.0 - seen.decoded**2)
    to_code = to_decoded @ w3.T
    to_mean = to_code + seen.mean / size
    to_log_variance = 0.5 * (
        to_code * seen.noise * np.exp(0.5 * seen.log_variance) + (np.exp(seen.log_variance) - 1.0) / size
    )
    to_moments = np.concatenate([to_mean, to_log_variance], axis=1)
    to_encoded = (to_moments @ w2.T) * (1.0 - seen.encoded**2)
    pairs = (
        (seen.inputs, to_encoded),
        (seen.encoded, to_moments),
        (seen.code, to_decoded),
        (seen.decoded, to_logits),
    )
    return np.concatenate(
        [part for inputs, error in pairs for part in ((inputs.T @ error).ravel(), error.sum(axis=0))]
    )
