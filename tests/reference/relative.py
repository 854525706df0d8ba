"""Slow twin of relative differences: every candidate is tested on the rows, and the ends are found by
bisection.
"""

from __future__ import annotations

import numpy as np


def relative_interval(a, b, influence_a, influence_b, reach):
    """Ends of the relative differences ``d`` with ``|a - (1 + d) b|`` within ``reach`` standard errors."""

    def inside(d):
        apart = influence_a - (1 + d) * influence_b
        apart = apart - apart.mean()
        error = np.sqrt((apart**2).sum() / (len(apart) - 1) / len(apart))
        return abs(a - (1 + d) * b) <= reach * error

    middle = a / b - 1
    ends = []
    for direction in (-1.0, 1.0):
        near, far = 0.0, 1e-6
        while inside(middle + direction * far):
            near, far = far, 2 * far
        for _ in range(100):
            trial = (near + far) / 2
            near, far = (trial, far) if inside(middle + direction * trial) else (near, trial)
        ends.append(middle + direction * near)
    return ends
