"""Slow twins of the bandwidth criteria: Python loops, nothing imported from the package."""


def covariance(a, b):
    """Of the errors of two estimates, from influence values of independent draws."""
    n = len(a)
    return sum(x * y for x, y in zip(a, b, strict=True)) / (n * (n - 1))


def slope(values, influences):
    """Narrowest of estimates ordered from wide to narrow that agrees with all wider ones."""
    chosen = 0
    first = covariance(influences[0], influences[0])
    for g in range(1, len(values)):
        own = covariance(influences[g], influences[g])
        for wider in range(g):
            gap = [x - y for x, y in zip(influences[g], influences[wider], strict=True)]
            if (values[g] - values[wider]) ** 2 > covariance(gap, gap):
                return chosen
        if own > first:
            return chosen
        chosen = g
    return chosen


def plug_in(values, influences, anchor):
    """Smallest variance plus squared difference to the anchor, and that sum for all."""
    errors = [covariance(i, i) + (v - values[anchor]) ** 2 for v, i in zip(values, influences, strict=True)]
    return errors.index(min(errors)), errors
