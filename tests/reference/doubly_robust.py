"""Doubly robust estimates straight from their formulas, row by row; nothing imported from the package."""

import math


def value_under(policy, predicted):
    """``sum_a pi(a|s) q(s, a)`` of every row."""
    return [
        sum(p * q for p, q in zip(row, guesses, strict=True))
        for row, guesses in zip(policy, predicted, strict=True)
    ]


def direct(value, mass):
    return sum(c * v for c, v in zip(mass, value, strict=True)) / sum(mass)


def plain(value, weight, reward, predicted, mass):
    terms = [v + w * (r - q) for v, w, r, q in zip(value, weight, reward, predicted, strict=True)]
    return direct(terms, mass)


def self_normalised(value, weight, reward, predicted, mass):
    load = sum(c * w for c, w in zip(mass, weight, strict=True))
    extra = sum(c * w * (r - q) for c, w, r, q in zip(mass, weight, reward, predicted, strict=True))
    return direct(value, mass) + extra / load


def kernel_normalised(value, weight, reward, predicted, mass, context, bandwidth, normalised):
    """Residuals weighted by ``w / m``, m the RBF kernel average of the weights around each row."""
    ratios = []
    for here, w in zip(context, weight, strict=True):
        k = [
            c * math.exp(-sum((a - b) ** 2 for a, b in zip(here, there, strict=True)) / (2 * bandwidth**2))
            for there, c in zip(context, mass, strict=True)
        ]
        ratios.append(w * sum(k) / sum(part * other for part, other in zip(k, weight, strict=True)))
    corrected = self_normalised if normalised else plain
    return corrected(value, ratios, reward, predicted, mass)
