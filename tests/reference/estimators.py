"""Slow twins of the estimators: Python loops straight from the formulas, nothing imported from the package.

``mass[i]`` says how many interactions row i stands for. Values are functions of it, so influence values are
numerical derivatives as well as formulas.
"""

import math


def profile(kernel, q):
    if kernel == "rbf":
        return math.exp(-0.5 * q)
    if kernel == "laplace":
        return math.exp(-math.sqrt(q))
    if kernel == "matern32":
        return (1 + math.sqrt(3 * q)) * math.exp(-math.sqrt(3 * q))
    if kernel == "matern52":
        s = math.sqrt(5 * q)
        return (1 + s + s * s / 3) * math.exp(-s)
    if kernel == "epanechnikov":
        return max(1 - q, 0.0)
    raise ValueError(kernel)


def kernel_between(x, y, bandwidth, kernel="rbf", categorical=()):
    """Product of a radial kernel of the numeric columns and a factor exp(-1/h^2) per categorical mismatch."""
    q, factor = 0.0, 1.0
    for column, (a, b) in enumerate(zip(x, y, strict=True)):
        h = bandwidth[column] if hasattr(bandwidth, "__len__") else bandwidth
        if column in categorical:
            if a != b and not math.isinf(h):
                factor *= math.exp(-1 / h**2)
        elif not math.isinf(h):
            q += ((a - b) / h) ** 2
    return profile(kernel, q) * factor


def same_state(x, y):
    return 1.0 if all(a == b for a, b in zip(x, y, strict=True)) else 0.0


def vis(weight, reward, mass):
    return sum(c * w * r for w, r, c in zip(weight, reward, mass, strict=True)) / sum(mass)


def truncated_vis(weight, reward, mass, cap):
    return vis([min(w, cap) for w in weight], reward, mass)


def wis(weight, reward, mass):
    top = sum(c * w * r for w, r, c in zip(weight, reward, mass, strict=True))
    return top / sum(c * w for w, c in zip(weight, mass, strict=True))


def empirical_likelihood_weights(weight, mass, low=0.0, high=math.inf):
    """``w / (1 + t (w - 1))`` with the t between its limits at which the mean of
    ``(w - 1) / (1 + t (w - 1))`` is 0, by bisection; at a limit if there is none.
    """

    def mean_excess(t):
        total = 0.0
        for w, c in zip(weight, mass, strict=True):
            below = 1 + t * (w - 1)
            total += c * (w - 1) / below if below > 0 else math.copysign(math.inf, w - 1)
        return total

    least, most = (-1 / (high - 1) if math.isfinite(high) else 0.0), 1 / (1 - low)
    if mean_excess(least) <= 0:
        t = least
    else:
        for _ in range(200):
            t = (least + most) / 2
            least, most = (t, most) if mean_excess(t) > 0 else (least, t)
    return [w / (1 + t * (w - 1)) if w > 0 else 0.0 for w in weight]


def control_variate(weight, reward, mass):
    """The mean of the terms less the slope of their regression on the weights times what the mean weight is
    off by.
    """
    total = sum(mass)
    mean_w = sum(c * w for w, c in zip(weight, mass, strict=True)) / total
    mean_x = sum(c * w * r for w, r, c in zip(weight, reward, mass, strict=True)) / total
    with_x = sum(c * (w - mean_w) * (w * r - mean_x) for w, r, c in zip(weight, reward, mass, strict=True))
    with_w = sum(c * (w - mean_w) ** 2 for w, c in zip(weight, mass, strict=True))
    return mean_x - with_x / with_w * (mean_w - 1)


def control_variate_weights(weight, mass):
    total = sum(mass)
    mean = sum(c * w for w, c in zip(weight, mass, strict=True)) / total
    variance = sum(c * (w - mean) ** 2 for w, c in zip(weight, mass, strict=True)) / total
    return [w * (1 - (mean - 1) * (w - mean) / variance) for w in weight]


def shrunken(rule, w, parameter):
    """One weight, shrunk."""
    if rule == "clipping":
        return min(w, parameter)
    if rule == "switch":
        return w if w <= parameter else 0.0
    if rule == "shrinkage":
        return parameter * w / (w**2 + parameter)
    if rule == "sub-gaussian":
        return 0.0 if w == 0 else 1 / ((1 - parameter) / w + parameter)
    if rule == "power-mean":
        return w ** (1 - parameter) if w > 0 else 0.0
    if rule == "implicit-exploration":
        return 0.0 if w == 0 else 1 / (1 / w + parameter)
    if rule == "logarithmic-smoothing":
        return math.log(1 + parameter * w) / parameter
    raise ValueError(rule)


def log_sum_exp(weight, reward, mass, parameter):
    value, total = 0.0, sum(mass)
    for sign in (1, -1):
        terms = [max(sign * w * r, 0.0) for w, r in zip(weight, reward, strict=True)]
        mean = sum(c * math.exp(-parameter * x) for x, c in zip(terms, mass, strict=True)) / total
        value -= sign * math.log(mean) / parameter
    return value


def local_ratios(context, weight, mass, similarity):
    """``w_i / m_i`` with ``m_i`` the mean weight around row i, itself included; 0 where the weight is 0."""
    ratios = []
    for x, w in zip(context, weight, strict=True):
        near = near_weight = 0.0
        for y, v, c in zip(context, weight, mass, strict=True):
            k = similarity(x, y)
            near += c * k
            near_weight += c * k * v
        ratios.append(w * near / near_weight if w > 0 else 0.0)
    return ratios


def isolation(context, weight, mass, similarity):
    """Share of each row in the weight around it, on average over the interactions whose weight is not 0."""
    total = counted = 0.0
    for i, (x, w, c) in enumerate(zip(context, weight, mass, strict=True)):
        if w > 0:
            around = sum(mass[j] * similarity(x, y) * weight[j] for j, y in enumerate(context))
            total += c * mass[i] * w / around
            counted += c
    return total / counted


def local_wis(context, weight, reward, mass, similarity, normalised):
    ratios = local_ratios(context, weight, mass, similarity)
    top = sum(c * t * r for t, r, c in zip(ratios, reward, mass, strict=True))
    return top / (sum(c * t for t, c in zip(ratios, mass, strict=True)) if normalised else sum(mass))


def local_influence(context, weight, reward, mass, similarity, normalised):
    """The formulas of the influence function, in units of interactions (not yet of rows)."""
    n, total = len(weight), sum(mass)
    k = [[similarity(x, y) for y in context] for x in context]
    near = [sum(k[i][j] * mass[j] for j in range(n)) for i in range(n)]
    mean = [sum(k[i][j] * mass[j] * weight[j] for j in range(n)) / near[i] for i in range(n)]
    t = [weight[i] / mean[i] if weight[i] > 0 else 0.0 for i in range(n)]
    plain = sum(mass[i] * t[i] * reward[i] for i in range(n)) / total
    share = sum(mass[i] * t[i] for i in range(n)) / total
    x = [r - plain / share for r in reward] if normalised else list(reward)
    v = [mass[i] * x[i] * t[i] / near[i] for i in range(n)]
    u = [v[i] / mean[i] if v[i] != 0 else 0.0 for i in range(n)]
    influence = []
    for j in range(n):
        pull = sum(k[i][j] * v[i] for i in range(n)) - weight[j] * sum(k[i][j] * u[i] for i in range(n))
        influence.append((x[j] * t[j] + pull) / share if normalised else x[j] * t[j] - plain + pull)
    return influence


def row_influence(influence, mass):
    """From interactions to rows: a row of mass c has c times the influence, and rows are n, not sum(mass)."""
    scale = len(mass) / sum(mass)
    return [scale * c * value for c, value in zip(mass, influence, strict=True)]


def numerical_influence(value_of, mass, step=1e-5):
    """``n mass_j d value / d mass_j`` by central differences."""
    n, slopes = len(mass), []
    for j in range(n):
        up, down = list(mass), list(mass)
        up[j] += step * mass[j]
        down[j] -= step * mass[j]
        slopes.append(n * (value_of(up) - value_of(down)) / (2 * step))
    return slopes


def standard_error(influence, group=None):
    n = len(influence)
    totals = {}
    for row, value in enumerate(influence):
        label = row if group is None else group[row]
        totals[label] = totals.get(label, 0.0) + value
    draws = len(totals)
    return math.sqrt(sum(value**2 for value in totals.values()) * draws / (draws - 1)) / n


def effective_size(applied, mass):
    loads = [v * c for v, c in zip(applied, mass, strict=True)]
    return sum(loads) ** 2 / sum(v * v for v in loads)
