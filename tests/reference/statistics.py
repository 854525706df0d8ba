"""Quantiles and tails of weighted rewards, row by row; nothing imported from the package."""


def quantile(weight, reward, mass, share):
    """The smallest reward at which the rows up to it have that share of the weight."""
    rows = sorted(zip(reward, weight, mass, strict=True))
    total = sum(c * w for _, w, c in rows)
    running = 0.0
    for r, w, c in rows:
        running += c * w
        if running >= share * total * (1 - 1e-12) and running > 0:
            return r
    raise ValueError("no weight")


def tail_mean(weight, reward, mass, share, upper):
    """Mean of the reward over the share of the weight beyond the quantile; the row there counts in part."""
    rows = sorted(zip(reward, weight, mass, strict=True), reverse=upper)
    total = sum(c * w for _, w, c in rows)
    left = size = (1 - share if upper else share) * total
    found = 0.0
    for r, w, c in rows:
        part = min(c * w, left)
        found += part * r
        left -= part
    return found / size


def quantile_influence(weight, reward, mass, share, group):
    """Influence of each row on the quantile: that of the share of weight at or below it over the density
    there, which is read off the quantiles two standard errors of that share further down and up.
    """
    n = len(weight)
    total = sum(c * w for w, c in zip(weight, mass, strict=True))
    edge = quantile(weight, reward, mass, share)
    below = [
        n * c * w / total * ((1.0 if r <= edge else 0.0) - share)
        for w, r, c in zip(weight, reward, mass, strict=True)
    ]
    labels = sorted(set(group))
    sums = [sum(x for x, label in zip(below, group, strict=True) if label == other) for other in labels]
    error = (sum(x * x for x in sums) * len(sums) / (len(sums) - 1)) ** 0.5 / n
    low, high = max(share - 2 * error, 0.0), min(share + 2 * error, 1.0)
    rise = quantile(weight, reward, mass, high) - quantile(weight, reward, mass, low)
    return [-x * rise / (high - low) for x in below]
