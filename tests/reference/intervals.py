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


def plain_end(gains, chance, steps, whole):
    """The smallest mean up to ``whole`` on a grid that half of all stakes, evenly on sizes, do not refute."""
    sizes = [2.0**k for k in range(-14, 3)]
    for step in range(steps):
        mean = whole * step / steps
        won = [math.prod((1 + size * x) / (1 + size * mean) for x in gains) for size in sizes]
        if sum(won) / len(won) / 2 <= 1 / chance:
            return mean
    return whole


def _bets(weight, share, largest, difference):
    """From (guess, number of the size) to the size of a bet that the mean is higher than claimed, and what
    its factors multiply to before the claim is known.
    """
    bets = {}
    for guess in range(9 if largest > 1 else 1):
        c = guess / 8
        worst = c * (largest - 1) - difference
        rows = zip(weight, share, strict=True)
        terms = [1 + (w - 1) * (s - c) if difference else w * (s - c) + c for w, s in rows]
        for k in range(-14, 6):
            size = min(2.0**k, 0.98 / worst) if worst > 0 else 2.0**k
            bets[guess, k] = size, math.prod(1 + size * x for x in terms)
    return bets


def _won(bets, mean, nearest, peak, n):
    """What 0.2 of all stakes, and 0.6 of them times the guess nearest to the claim, have become."""
    alone = all(guess == 0 for guess, _ in bets)
    others = {guess: (2 / 3) ** abs(guess - nearest) for guess in range(9) if guess != nearest}
    parts = {guess: 0.45 * part / sum(others.values()) for guess, part in others.items()} | {nearest: 0.5}
    parts[0] += 0.05
    falling = {k: 1 / (1 + (abs(k - peak) / 3) ** 3) for k in range(-14, 6)}
    total = 0.0
    for (guess, k), (size, product) in bets.items():
        stake = (1.0 if alone else parts[guess]) * falling[k] / sum(falling.values())
        total += stake * product / (1 + size * mean) ** n
    return (0.2 + 0.6 * nearest / 8) * total


def _nearest(share):
    return min(range(9), key=lambda guess: (round(abs(guess / 8 - share), 12), guess))


def centred_ends(weight, share, largest, chance, steps=2_000):
    """The smallest and largest value on a grid that bets on more, or on less, have not refuted: on less they
    are on more of what is left of the range.
    """
    ends = []
    for shares in (share, [1 - s for s in share]):
        bets = _bets(weight, shares, largest, False)
        grid = (k / steps for k in range(steps))
        ends.append(next((v for v in grid if _won(bets, v, _nearest(v), -3, len(weight)) <= 1 / chance), 1.0))
    return ends[0], 1 - ends[1]


def difference_ends(weight, share, largest, chance, steps):
    """The same for the difference to the log: of every guess that the interval of the mean reward allows, at
    a twentieth of the chance, bets have to refute it.
    """
    low, high = centred_ends([1.0] * len(share), share, 1.0, chance / 20)
    guesses = range(_nearest(low), _nearest(high) + 1)
    ends = []
    for shares, places in ((share, guesses), ([1 - s for s in share], [8 - guess for guess in guesses])):
        bets = _bets(weight, shares, largest, True)
        ends.append(
            next(
                2 * k / steps - 1
                for k in range(steps + 1)
                if k == steps
                or min(_won(bets, 2 * k / steps, place, -1.5, len(weight)) for place in places)
                <= 1 / (0.95 * chance)
            )
        )
    return ends[0], -ends[1]


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
