"""Slow twins of the intervals: Python loops, nothing imported from the package."""

import math
from statistics import NormalDist

NORMAL = NormalDist()


def quantile(values, share):
    """Linear interpolation between order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def percentile_ends(values, level):
    return quantile(values, (1 - level) / 2), quantile(values, (1 + level) / 2)


def bca_ends(values, value, influence, level):
    """Efron's BCa with the acceleration from influence values of independent draws."""
    below = sum(0.5 if math.isclose(v, value, rel_tol=1e-12) else 1.0 if v < value else 0.0 for v in values)
    z0 = NORMAL.inv_cdf(below / len(values))
    a = sum(x**3 for x in influence) / (6 * sum(x**2 for x in influence) ** 1.5)
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = z0 + NORMAL.inv_cdf(tail)
        ends.append(quantile(values, NORMAL.cdf(z0 + z / (1 - a * z))))
    return tuple(ends)


def studentised_ends(values, errors, value, std_error, level):
    pivots = [(v - value) / e for v, e in zip(values, errors, strict=True)]
    low, high = percentile_ends(pivots, level)
    return value - high * std_error, value - low * std_error


def bernstein_reach(terms, span, level):
    """Maurer and Pontil's theorem 4 for each side at half the error probability."""
    n = len(terms)
    pairs = sum((terms[i] - terms[j]) ** 2 for i in range(n) for j in range(i + 1, n))
    variance = pairs / (n * (n - 1))
    delta = (1 - level) / 2
    return math.sqrt(2 * variance * math.log(2 / delta) / n) + 7 * span * math.log(2 / delta) / (3 * (n - 1))


def group_totals(influence, group):
    totals = {}
    for value, label in zip(influence, group, strict=True):
        totals[label] = totals.get(label, 0.0) + value
    return list(totals.values())


def leave_one_out_values(value_of, rows):
    """The statistic without each row in turn."""
    return [value_of([other for other in rows if other != row]) for row in rows]


def jackknife_error(values, value):
    """Tukey's jackknife around the estimate itself."""
    n = len(values)
    return math.sqrt((n - 1) / n * sum((v - value) ** 2 for v in values))


def log_odds_ends(value, reach, low, high):
    """Ends at equal distance from the value in log odds of its place in the range."""
    place = (value - low) / (high - low)
    odds = math.log(place / (1 - place))
    shift = reach / (place * (1 - place) * (high - low))
    return tuple(low + (high - low) / (1 + math.exp(-(odds + side * shift))) for side in (-1, 1))


def folded_normal_chance(reach, bias):
    """Chance that a normal error of this bias stays within the reach."""
    return NORMAL.cdf(reach - bias) - NORMAL.cdf(-reach - bias)


def mixture_lower_bound(gains, scales, chance, steps=20_000):
    """Smallest mean, on a fine grid, at which the average of the products of (1 + l x) / (1 + l v) is not
    above 1 / chance.
    """
    top = max(gains)
    for step in range(steps + 1):
        v = top * step / steps
        wealth = sum(math.prod((1 + scale * x) / (1 + scale * v) for x in gains) for scale in scales) / len(
            scales
        )
        if wealth <= 1 / chance:
            return v
    return top


def degrees_of_freedom(influence, leverage, group=None):
    """Rows (or groups) one by one: what their shares leave, or a chi-square as variable as the mean of their
    squares.
    """
    labels = list(range(len(influence))) if group is None else sorted(set(group.tolist()))
    sums = [
        sum(influence[i] for i in range(len(influence)) if (i if group is None else group[i]) == label)
        for label in labels
    ]
    shares = [
        sum(leverage[i] for i in range(len(leverage)) if (i if group is None else group[i]) == label)
        for label in labels
    ]
    squares = [value**2 for value in sums]
    mean = sum(squares) / len(squares)
    variance_of_mean = sum((square - mean) ** 2 for square in squares) / len(squares) ** 2
    return max(1.0, min(1 / sum(share**2 for share in shares) - 1, 2 * mean**2 / variance_of_mean))


def difference_from_both(first, second, correlation):
    """Ends of a difference from (low, value, high) of each value, by its formula."""
    (low, value, high), (other_low, other, other_high) = first, second
    below, above = (value - low, other_high - other), (high - value, other - other_low)
    arms = [math.sqrt(x * x + y * y - 2 * correlation * x * y) for x, y in (below, above)]
    return value - other - arms[0], value - other + arms[1]


def betting_ends(gains, scales, few, falling, chance, steps=4_000, whole=1.0):
    """The smallest value between 0 and ``whole`` on a grid at which the capital of both kinds of bets is at
    most 1 / chance: ``gains`` at the value and ``few``, if there are bets on them, at what is left of the
    whole.
    """
    for step in range(steps + 1):
        v = whole * step / steps
        capital = []
        for terms, sizes, mean in ((gains, scales, v), (few, falling, whole - v))[: 2 if falling else 1]:
            parts = []
            for size in sizes:
                product = 1.0
                for x in terms:
                    product *= (1 + size * x) / (1 + size * mean)
                parts.append(product)
            capital.append(sum(parts) / len(parts))
        if sum(capital) / len(capital) <= 1 / chance:
            return v
    return whole


def _capital(terms, sizes, mean):
    """What equal stakes on bets of these sizes, that the mean of the terms is higher, have become."""
    parts = []
    for size in sorted(set(sizes)):
        product = 1.0
        for x in terms:
            product *= (1 + size * x) / (1 + size * mean)
        parts.append(product)
    return sum(parts) / len(parts)


def centred_ends(weight, share, scales, largest, chance, steps=2_000):
    """The smallest and largest value on a grid at which half the stake on gains, or losses, and half of it on
    rewards less the nearest of nine guesses have not won ``1 / chance``.
    """

    def refuted(v, upwards):
        guesses = [k / 8 for k in range(9)]
        c = min(guesses, key=lambda g: (round(abs(g - v), 12), g if upwards else -g))
        centred = [w * (s - c) + c for w, s in zip(weight, share, strict=True)]
        if upwards:
            worst = c * (largest - 1)
            sizes = [min(k, 0.9 / worst) if worst else k for k in scales]
            plain = _capital([w * s for w, s in zip(weight, share, strict=True)], scales, v)
        else:
            sizes = [-min(k, 0.9 / (largest * (1 - c) + c)) for k in scales]
            plain = _capital([w * (1 - s) for w, s in zip(weight, share, strict=True)], scales, 1 - v)
        return (plain + _capital(centred, sizes, v)) / 2 > 1 / chance

    low = next((k for k in range(steps + 1) if not refuted(k / steps, True)), steps)
    high = next((k for k in range(steps, -1, -1) if not refuted(k / steps, False)), 0)
    return low / steps, high / steps


def difference_end(weight, share, scales, largest, chance, steps):
    """How far below 2 every mean of ``1 + (w - 1) s`` is refuted, on a grid: a quarter of the stake each on
    that and on less than claimed of ``1 - (w - 1) (s - 1)``, half of it on ``1 + (w - 1) (s - c)`` for five
    numbers c.
    """

    rows = [*zip(weight, share, strict=True)]
    gains, losses = [w * s + 1 - s for w, s in rows], [w * (1 - s) + s for w, s in rows]
    few = [-(2.0**k) / max(largest, 2.0) for k in range(-14, 0)]
    for step in range(steps + 1):
        mean = 2 * step / steps
        total = (_capital(gains, scales, mean) + _capital(losses, few, 2 - mean)) / 4
        for c in (0.125, 0.25, 0.5, 0.75, 0.875):
            worst = c * (largest - 1) - 1
            sizes = [min(k, 0.9 / worst) if worst > 0 else k for k in scales]
            total += _capital([1 + (w - 1) * (s - c) for w, s in rows], sizes, mean) / 10
        if total <= 1 / chance:
            return mean
    return 2.0


def efron_stein_bound(target, logging, action, reward, level, draws, rng):
    """Lower bound for rewards in [0, 1]; two sets of actions are drawn at each of the draws."""
    n = len(action)
    ratio = [[p / q for p, q in zip(*rows, strict=True)] for rows in zip(target, logging, strict=True)]
    weight = [row[a] for row, a in zip(ratio, action, strict=True)]

    def fresh():
        return [
            row[next(a for a in range(len(row)) if u < sum(shares[: a + 1]))]
            for row, shares, u in zip(ratio, logging, rng.random(n), strict=True)
        ]

    pairs = [(fresh(), fresh()) for _ in range(draws)]
    variance = sum(efron_stein_proxy(weight, first) for first, _ in pairs) / draws
    usual = sum(efron_stein_proxy(second, first) for first, second in pairs) / draws
    shrink = min(1.0, 1 / (sum(n / sum(first) for first, _ in pairs) / draws))
    x = math.log(2 / (1 - level))
    reach = math.sqrt(2 * (variance + usual) * (x + math.log(1 + variance / usual) / 2))
    value = sum(w * r for w, r in zip(weight, reward, strict=True)) / sum(weight)
    return shrink * (value - reach) - math.sqrt(x / (2 * n))


def efron_stein_proxy(weight, fresh):
    """Sum over k of the squared shares of row k before and after its weight is drawn anew, rows after k being
    fresh.
    """
    total = 0.0
    for k in range(len(weight)):
        rest = sum(weight[:k]) + sum(fresh[k + 1 :])
        own = weight[k] / (rest + weight[k]) if weight[k] > 0 else 0.0
        new = fresh[k] / (rest + fresh[k]) if fresh[k] > 0 else 0.0
        total += (own + new) ** 2
    return total
