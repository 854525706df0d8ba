"""What a repair may depend on: the given log-probabilities, and the context, straight and curved.

``actions``
    The given log-probability of every action, so that any of them can be mistaken for any other: a K by K
    correction.
``context``
    The features, standardised and cut off at four standard deviations, so that no row is carried away; turned
    to their principal axes where there are more than a few hundred.
``curved``
    A Gaussian kernel of the features' normal scores, by the Nystroem method: smooth corrections of any shape.
    Normal scores forget the scale of a feature, as trees do, and the kernel is as wide as two rows are apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from kwis.typing import Floats

_CUT = 4.0
_MOST_AXES = 300
_KNOTS = 200
_CENTRES = 200
_NEGLIGIBLE = 1e-5
_SHARES = 5.0  # shares of actions may be further off than the effect of any one feature
_ROWS = 20_000  # means, axes and quantiles of more rows would not be other ones


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """Columns less their centre, divided by their spread and cut off; constant columns become 0."""

    centre: Floats
    spread: Floats

    @classmethod
    def of(cls, values: Floats) -> Scaled:
        spread = values.std(axis=0)
        return cls(
            values.mean(axis=0),
            np.where(spread > 1e-12 * np.abs(values).max(axis=0, initial=1e-300), spread, np.inf),
        )

    def __call__(self, values: Floats) -> Floats:
        return np.clip((values - self.centre) / self.spread, -_CUT, _CUT)


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Scaled features, on principal axes where they are many."""

    scaled: Scaled
    axes: Floats | None

    @classmethod
    def of(cls, features: Floats) -> Context:
        scaled = Scaled.of(features)
        n, d = features.shape
        if d <= min(n, _MOST_AXES):
            return cls(scaled, None)
        # Rows no longer than columns: a penalty on the coefficients is the same on the axes, and there are no
        # more of them than rows.
        axes = np.linalg.svd(scaled(features), full_matrices=False)[2][: min(n, _MOST_AXES)].T
        return cls(scaled, axes)

    def __call__(self, features: Floats) -> Floats:
        values = self.scaled(features)
        return values if self.axes is None else values @ self.axes


@dataclass(frozen=True, slots=True, eq=False)
class NormalScores:
    """Normal scores of some rows' features, and the knots that give those of any rows."""

    knots: tuple[tuple[Floats, Floats], ...]
    values: Floats

    @classmethod
    def of(cls, features: Floats) -> NormalScores:
        knots = tuple(_normal_scores(column) for column in features.T)
        return cls(knots, _interpolated(features, knots))


@dataclass(frozen=True, slots=True, eq=False)
class Curved:
    """Kernel features: their scalar product is the Gaussian kernel of two rows, as seen from the centres."""

    knots: tuple[tuple[Floats, Floats], ...]
    scaled: Scaled
    centres: Floats
    width: float
    root: Floats

    @classmethod
    def of(cls, normal: NormalScores, rng: np.random.Generator) -> Curved:
        scores = normal.values
        scaled = Scaled.of(scores)
        centres = scaled(scores[np.sort(rng.permutation(len(scores))[:_CENTRES])])
        width = float(np.sqrt(max(1, np.isfinite(scaled.spread).sum())))
        values, vectors = np.linalg.eigh(_gaussian(centres, centres, width))
        kept = values > _NEGLIGIBLE * values[-1]
        return cls(normal.knots, scaled, centres, width, vectors[:, kept] / np.sqrt(values[kept]))

    def __call__(self, features: Floats, scores: Floats | None = None) -> Floats:
        made = _interpolated(features, self.knots) if scores is None else scores
        return _gaussian(self.scaled(made), self.centres, self.width) @ self.root


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The blocks of a design, learnt on some rows and computed on any."""

    context: Context
    curved: Curved | None

    @classmethod
    def of(
        cls, features: Floats, rng: np.random.Generator, *, curved: bool, normal: NormalScores | None = None
    ) -> Terms:
        """Terms learnt on some rows, whose normal scores may be known; of many rows on a sample."""
        if len(features) > _ROWS:
            features, normal = features[np.sort(rng.permutation(len(features))[:_ROWS])], None
        straight = Context.of(features)
        return cls(straight, Curved.of(normal or NormalScores.of(features), rng) if curved else None)

    def blocks(
        self, features: Floats, logs: Floats, names: Sequence[str], scores: Floats | None = None
    ) -> Mapping[str, Floats]:
        """Design of every block asked for; the first has a column of ones, as shares of the actions may be
        wrong too. ``scores`` are the normal scores of the features where they are known.
        """
        made = {}
        ones = np.ones((len(logs), 1))
        if "actions" in names:
            made["actions"] = np.hstack([ones, logs])
        if "context" in names:
            straight = self.context(features)
            made["context"] = straight if made else np.hstack([_SHARES * ones, straight])
        if "curved" in names and self.curved is not None:
            made["curved"] = self.curved(features, scores)
        return made


def _normal_scores(column: Floats) -> tuple[Floats, Floats]:
    """Values and their normal scores, at as many places as needed to interpolate."""
    values, counts = np.unique(column, return_counts=True)
    scores = ndtri((np.cumsum(counts) - counts / 2) / counts.sum())
    if len(values) > _KNOTS:
        picked = np.unique(
            np.searchsorted(scores, ndtri((np.arange(_KNOTS) + 0.5) / _KNOTS)).clip(0, len(values) - 1)
        )
        values, scores = values[picked], scores[picked]
    return values, scores


def _interpolated(features: Floats, knots: Sequence[tuple[Floats, Floats]]) -> Floats:
    return np.column_stack(
        [np.interp(column, *known) for column, known in zip(features.T, knots, strict=True)]
    )


def _gaussian(left: Floats, right: Floats, width: float) -> Floats:
    """The kernel of every row on the left with every one on the right; squared lengths are two columns more,
    so that one product of matrices makes its exponent.
    """
    lengths, others = (np.einsum("ij,ij->i", rows, rows)[:, None] for rows in (left, right))
    wide = np.hstack([left, lengths, np.ones_like(lengths)]) / width**2
    kernel = wide @ np.hstack([right, -0.5 * np.ones_like(others), -0.5 * others]).T
    return np.exp(np.minimum(kernel, 0.0, out=kernel), out=kernel)
