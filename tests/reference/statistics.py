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
