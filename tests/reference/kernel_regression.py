"""Slow twin of the kernel regression: one row at a time, in extended precision where the machine has it.

A kernel is a function of ``q`` that returns its logarithm and the derivative of that. ``bandwidth`` is a
number or one per column.
"""

import numpy as np

REAL = np.longdouble


def rbf(q):
    return -q / 2, np.full_like(q, -0.5)


def laplace(q):
    root = np.sqrt(q)
    return -root, -np.divide(0.5, root, out=np.zeros_like(q), where=root > 0)


def matern32(q):
    root = np.sqrt(3 * q)
    return np.log1p(root) - root, -1.5 / (1 + root)


def matern52(q):
    root = np.sqrt(5 * q)
    return np.log1p(root + root**2 / 3) - root, -(5 / REAL(6)) * (1 + root) / (1 + root + root**2 / 3)


def epanechnikov(q):
    inside = q < 1
    inner = np.where(inside, q, 0)
    return np.where(inside, np.log1p(-inner), -np.inf), np.where(inside, -1 / (1 - inner), 0)


def cauchy(q):
    return -np.log1p(q), -1 / (1 + q)


KERNELS = {
    "rbf": rbf,
    "laplace": laplace,
    "matern32": matern32,
    "matern52": matern52,
    "epanechnikov": epanechnikov,
    "cauchy": cauchy,
}


def elasticities(x, others, bandwidth, categorical):
    """``(x_l - y_l)^2 / h_l^2`` of every numeric column and ``[x_l != y_l] / h_l^2`` of every categorical
    one, ``(others, d)``.
    """
    h = np.broadcast_to(np.asarray(bandwidth, dtype=REAL), x.shape)
    parts = (others - x) / h
    for column in categorical:
        parts[:, column] = (others[:, column] != x[column]) / h[column]
    return parts**2


def kernel_row(x, others, bandwidth, kernel, categorical):
    """Kernel from ``x`` to every other row divided by its largest, its derivatives in every log bandwidth,
    and whether ``x`` is alone.
    """
    parts = elasticities(x, others, bandwidth, categorical)
    numeric = [column for column in range(x.size) if column not in categorical]
    q, mismatch = parts[:, numeric].sum(axis=1), parts[:, list(categorical)].sum(axis=1)
    log_k, slope = KERNELS[kernel](q)
    log_k = log_k - mismatch
    if np.isneginf(log_k).all():
        distance = q + 2 * mismatch
        return (distance == distance.min()).astype(REAL), np.zeros_like(parts), True
    derivative = 2 * parts
    derivative[:, numeric] *= -slope[:, None]
    return np.exp(log_k - log_k.max()), derivative, False


def cv_score(context, weight, bandwidth, folds, kernel="rbf", categorical=()):
    """Mean over folds of the fold's mean squared error, its derivative in the log bandwidth of every column,
    and the rows left alone.
    """
    context, weight = np.asarray(context, dtype=REAL), np.asarray(weight, dtype=REAL)
    labels = np.unique(folds)
    score, gradient, alone = REAL(0), np.zeros(context.shape[1], dtype=REAL), 0
    for label in labels:
        held_out, rest = np.flatnonzero(folds == label), np.flatnonzero(folds != label)
        for i in held_out:
            k, derivative, isolated = kernel_row(context[i], context[rest], bandwidth, kernel, categorical)
            predicted = k @ weight[rest] / k.sum()
            residual = weight[i] - predicted
            # The terms k (w - predicted) sum to 0; taking the nearest row's derivative off leaves less to
            # cancel.
            derivative = derivative - derivative[np.argmax(k)]
            slope = (k * (weight[rest] - predicted)) @ derivative / k.sum()
            score += residual**2 / held_out.size / labels.size
            gradient += -2 * residual * slope / held_out.size / labels.size
            alone += isolated
    return float(score), gradient.astype(float), alone


def kernel_mean(weight, context, bandwidth, at=None, kernel="rbf", categorical=()):
    context, weight = np.asarray(context, dtype=REAL), np.asarray(weight, dtype=REAL)
    means = []
    for x in context if at is None else np.asarray(at, dtype=REAL):
        k, _, _ = kernel_row(x, context, bandwidth, kernel, categorical)
        means.append(float(k @ weight / k.sum()))
    return np.array(means)


def median_distance(context, categorical=()):
    """Between different rows; a categorical mismatch counts 2 squared."""
    context = np.asarray(context, dtype=REAL)
    columns = [1.0 if column not in categorical else np.sqrt(0.5) for column in range(context.shape[1])]
    rows = [
        elasticities(context[i], context[:i], np.array(columns), categorical).sum(axis=1)
        for i in range(1, len(context))
    ]
    distances = np.sqrt(np.concatenate(rows))
    return float(np.median(distances[distances > 0]))


def scores(context, weight, bandwidths, folds, kernel="rbf", categorical=()):
    """Scores at many shared bandwidths in double precision, from one matrix of distances: for dense grids
    over small samples.
    """
    context, weight = np.asarray(context, dtype=float), np.asarray(weight, dtype=float)
    parts = np.stack([elasticities(x, context, np.ones(x.size), categorical) for x in context]).astype(float)
    numeric = [column for column in range(context.shape[1]) if column not in categorical]
    q, mismatch = parts[:, :, numeric].sum(axis=2), parts[:, :, list(categorical)].sum(axis=2)
    own = folds[:, None] == folds
    share = 1 / (np.unique(folds).size * own.sum(axis=1))
    found = []
    for h in bandwidths:
        log_k = np.where(own, -np.inf, KERNELS[kernel](q / h**2)[0] - mismatch / h**2)
        top = log_k.max(axis=1, keepdims=True)
        distance = np.where(own, np.inf, q + 2 * mismatch)
        alone = np.where(distance == distance.min(axis=1, keepdims=True), 0.0, -np.inf)
        log_k = np.where(np.isneginf(top), alone, log_k - np.where(np.isneginf(top), 0.0, top))
        k = np.exp(log_k)
        found.append(float(share @ (weight - k @ weight / k.sum(axis=1)) ** 2))
    return np.array(found)


def best_shared(context, weight, folds, kernel="rbf", categorical=(), nodes=400):
    """Lowest score over a dense grid of shared bandwidths, every dip polished by ever finer grids
    around it.
    """
    typical = median_distance(context, categorical)
    grid = np.geomspace(typical / 1000, typical * 1000, nodes)
    curve = scores(context, weight, grid, folds, kernel, categorical)
    best, where = float(curve.min()), float(grid[curve.argmin()])
    for i in range(1, nodes - 1):
        if curve[i] <= min(curve[i - 1], curve[i + 1]) and curve[i] <= 1.05 * best:
            low, high = grid[i - 1], grid[i + 1]
            for _ in range(9):
                fine = np.geomspace(low, high, 13)
                values = scores(context, weight, fine, folds, kernel, categorical)
                dip = int(np.clip(values.argmin(), 1, 11))
                low, high = fine[dip - 1], fine[dip + 1]
                if values.min() < best:
                    best, where = float(values.min()), float(fine[values.argmin()])
    return best, where
