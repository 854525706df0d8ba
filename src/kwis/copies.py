"""Rows that are one draw: those of a group, or copies of one another."""

from __future__ import annotations

import numpy as np

from kwis.logged import LoggedBandit
from kwis.typing import Ints


def together_of(log: LoggedBandit) -> Ints:
    """``(n,)`` label from 0 on of the rows that belong together: those of a group, or else those alike in all but their place."""
    if log.group is not None:
        return np.unique(log.group, return_inverse=True)[1].astype(np.int64)
    codes = np.zeros(log.n, dtype=np.int64)
    for values in (log.action, *log.reward.T, *log.features().T):
        own = np.unique(values, return_inverse=True)[1]
        codes = np.unique(codes * (int(own.max()) + 1) + own, return_inverse=True)[1]
    return codes.astype(np.int64)
