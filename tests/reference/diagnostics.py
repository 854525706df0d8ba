"""Slow twins of the diagnostics: plain loops, nothing imported from the package."""

import math


def pareto_shape(excess):
    """Zhang and Stephens (2009), one candidate at a time, then the pull towards 0.5 worth ten rows."""
    x = sorted(excess)
    n = len(x)
    count = 30 + int(math.sqrt(n))
    quartile = x[int(n / 4 + 0.5) - 1]
    candidates = [
        1 / x[-1] + (1 - math.sqrt(count / (j - 0.5))) / (3 * quartile) for j in range(1, count + 1)
    ]

    def shape_at(theta):
        return sum(math.log1p(-theta * value) for value in x) / n

    def log_likelihood(theta):
        k = shape_at(theta)
        return n * (math.log(-theta / k) - k - 1)

    likelihoods = [log_likelihood(theta) for theta in candidates]
    chances = [1 / sum(math.exp(other - own) for other in likelihoods) for own in likelihoods]
    theta = sum(candidate * chance for candidate, chance in zip(candidates, chances, strict=True))
    return (n * shape_at(theta) + 10 * 0.5) / (n + 10)


def tail_excess(weight):
    """Largest ``min(n/5, 3 sqrt(n))`` positive weights, less the next largest, in units of the largest."""
    x = sorted(value for value in weight if value > 0)
    tail = math.floor(min(len(x) / 5, 3 * math.sqrt(len(x))))
    return [(value - x[-tail - 1]) / x[-1] for value in x[-tail:]]


def skew_corrected(score, rows, group=None):
    """Student's ratio of the sums of the groups that touch the rows, by Hall's cubic."""
    sums = {}
    for i, inside in enumerate(rows):
        if inside:
            label = i if group is None else group[i]
            sums[label] = sums.get(label, 0.0) + score[i]
    x = list(sums.values())
    n = len(x)
    mean = sum(x) / n
    variance = sum((value - mean) ** 2 for value in x) / n
    skewness = sum((value - mean) ** 3 for value in x) / n / variance**1.5
    t = mean * math.sqrt(n) / math.sqrt(variance * n / (n - 1))
    a = skewness / math.sqrt(n)
    return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6


def local_mean(context, weight, mass, bandwidth, i):
    """Local mean weight around row i and its standard error, RBF kernel."""
    k = [
        c * math.exp(-sum((a - b) ** 2 for a, b in zip(context[i], row, strict=True)) / (2 * bandwidth**2))
        for row, c in zip(context, mass, strict=True)
    ]
    total = sum(k)
    mean = sum(value * w for value, w in zip(k, weight, strict=True)) / total
    return mean, math.sqrt(sum((value * (w - mean)) ** 2 for value, w in zip(k, weight, strict=True))) / total


def standardised_difference(values, weight, rows, mass):
    """Weighted mean over some rows less the mean over all, in standard deviations over all."""
    total = sum(mass)
    mean = sum(v * c for v, c in zip(values, mass, strict=True)) / total
    spread = math.sqrt(sum(c * (v - mean) ** 2 for v, c in zip(values, mass, strict=True)) / total)
    part = [(v, w * c) for v, w, c, inside in zip(values, weight, mass, rows, strict=True) if inside]
    return (sum(v * w for v, w in part) / sum(w for _, w in part) - mean) / spread


def row_moments(chance, amount):
    """Mean, variance, third and third absolute moment of an amount that depends on the action drawn."""
    mean = sum(p * x for p, x in zip(chance, amount, strict=True))
    return mean, *(
        sum(p * moment(x - mean) for p, x in zip(chance, amount, strict=True))
        for moment in (lambda d: d**2, lambda d: d**3, lambda d: abs(d) ** 3)
    )


def cube_root(value):
    return math.copysign(abs(value) ** (1 / 3), value)


def wilson_hilferty(score, variance, third):
    """A sum over its standard deviation, made normal by the cube root."""
    z, skewness = score / math.sqrt(variance), third / variance**1.5
    return 6 / skewness * (cube_root(1 + skewness * z / 2) - 1) + skewness / 6


def grouped_moments(variance, third, rows, group, shared):
    """Variance and third moment of the sum over some rows, of which pairs of a group share a draw with the
    given chance.
    """
    inside = [i for i, yes in enumerate(rows) if yes]
    apart = sum(variance[i] for i in inside), sum(third[i] for i in inside)
    roots = {}
    for i in inside:
        root, cube = roots.get(group[i], (0.0, 0.0))
        roots[group[i]] = root + math.sqrt(variance[i]), cube + cube_root(third[i])
    together = sum(root**2 for root, _ in roots.values()), sum(cube**3 for _, cube in roots.values())
    chances = shared, shared**1.5
    return tuple(
        (1 - chance) * one + chance * other
        for chance, one, other in zip(chances, apart, together, strict=True)
    )


_WORD = 2**64


def mixed(x):
    """SplitMix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % _WORD
    return x ^ (x >> 31)


def uniform_number(key, number):
    return (mixed((key + number * 0x9E3779B97F4A7C15) % _WORD) >> 11) / 2**53


def pairs_alike(feature, action, chance, group):
    """Sum over pairs of rows of different groups: the product of their features, times that of what their
    actions have beyond their chances.
    """
    surplus = [[(k == a) - p for k, p in enumerate(row)] for a, row in zip(action, chance, strict=True)]
    return sum(
        feature[i] * feature[j] * sum(x * y for x, y in zip(surplus[i], surplus[j], strict=True))
        for i in range(len(action))
        for j in range(len(action))
        if group[i] != group[j]
    )


def redrawn_actions(chance, draw, seed=0, group=None, shared=0.0):
    """Actions of a log drawn anew: each row looks up its own number or, as often as pairs share,
    its group's.
    """
    key = mixed((4 * seed + (draw + 1) * 0xD1342543DE82EF95) % _WORD)
    group_key, share_key = mixed((key + 1) % _WORD), mixed((key + 2) % _WORD)
    actions = []
    for i, row in enumerate(chance):
        own = group is None or uniform_number(share_key, i) >= math.sqrt(shared)
        u, end = uniform_number(key, i) if own else uniform_number(group_key, group[i]), 0.0
        ends = []
        for p in row:
            end += p
            ends.append(end)
        actions.append(sum(end <= u for end in ends[:-1]))
    return actions
