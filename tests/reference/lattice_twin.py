"""Cross-validation of the kernel regression over categorical codes, by loops over pairs of rows."""

import math


def mismatch(a, b, penalty):
    return sum(cost for x, y, cost in zip(a, b, penalty, strict=True) if x != y)


def penalties(bandwidth, d):
    h = [bandwidth] * d if isinstance(bandwidth, float) else list(bandwidth)
    return [0.0 if math.isinf(value) else value**-2.0 for value in h]


def score_and_gradient(codes, weight, folds, bandwidth):
    """Mean over folds of the mean squared error, and its gradient in every column's log bandwidth.

    A mismatch in a column multiplies the kernel by ``exp(-1/h^2)``; each row's kernels are divided by their
    largest.
    """
    d = len(codes[0])
    penalty = penalties(bandwidth, d)
    labels = sorted(set(folds))
    score, gradient = 0.0, [0.0] * d
    for label in labels:
        held_out = [i for i in range(len(codes)) if folds[i] == label]
        rest = [j for j in range(len(codes)) if folds[j] != label]
        for i in held_out:
            costs = [mismatch(codes[i], codes[j], penalty) for j in rest]
            kernel = [math.exp(min(costs) - cost) for cost in costs]
            total = math.fsum(kernel)
            predicted = math.fsum(k * weight[j] for k, j in zip(kernel, rest, strict=True)) / total
            residual = weight[i] - predicted
            score += residual**2 / len(held_out)
            nearest = codes[rest[costs.index(min(costs))]]
            for column in range(d):
                # The terms k (w - predicted) sum to 0, so any constant may be taken off the mismatches: with
                # the nearest row's nothing is left of neighbours that all differ.
                excess = [
                    (codes[i][column] != codes[j][column]) - (codes[i][column] != nearest[column])
                    for j in rest
                ]
                terms = [
                    k * (weight[j] - predicted) * e for k, j, e in zip(kernel, rest, excess, strict=True)
                ]
                gradient[column] += (
                    -2 * residual * 2 * penalty[column] * math.fsum(terms) / total / len(held_out)
                )
    return score / len(labels), [value / len(labels) for value in gradient]
