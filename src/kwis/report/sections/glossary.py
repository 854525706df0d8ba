"""What the estimators are, in a sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_MEANINGS = {
    "vis": "mean of reward times weight; unbiased with right propensities, and the most variable",
    "truncated-vis": "vis with weights cut at the square root of the number of rows, or at the cap that was asked for",
    "wis": "weighted mean of the rewards: weights are divided by their overall mean",
    "state-wis": "weights are divided by their mean over the rows with the same context",
    "kernel-wis": "weights are divided by their mean over contexts nearby; the bandwidth says how near",
    "direct-method": "mean of rewards predicted by a model; no weights, and as right as the model",
    "doubly-robust": "predicted rewards, corrected by the weighted errors of the prediction; right if model or propensities are",
}


def glossary(names: Iterable[str]) -> Iterator[str]:
    """A sentence for each estimator known by name; prefixes and suffixes are told apart from what they are added to."""
    for name in names:
        if name in _MEANINGS:
            yield f"{name}: {_MEANINGS[name]}."
        elif name.startswith("doubly-robust-"):
            yield f"{name}: doubly robust, its errors weighted as in {name.removeprefix('doubly-robust-')}."
        elif name.startswith("normalised-"):
            yield f"{name}: {name.removeprefix('normalised-')} divided by the mean of its weights, so that equal rewards give that reward."
