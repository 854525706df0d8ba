"""Public logs, read from files that you have: nothing is downloaded."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Literal

from kwis.data.log import LoggedBandit
from kwis.data.read.read_log import read_log
from kwis.errors import InputError

_POLICIES = ("random", "bts")
_CAMPAIGNS = ("all", "men", "women")
_USER = tuple(f"user_feature_{number}" for number in range(4))


def open_bandit(
    path: str | PathLike[str],
    policy: str = "random",
    campaign: str = "all",
    *,
    position: Literal["context", "action"] | None = None,
) -> LoggedBandit:
    """Read a log of the Open Bandit Dataset (Saito et al. 2021): items shown by a fashion shop, and clicks.

    Parameters
    ----------
    path
        Folder that holds ``random/all/all.csv`` and so on. A small version, 10,000 rows a log, is in the
        folder ``obp/dataset/obd`` of the wheel of ``obp`` 0.4.1, which is a zip file.
    policy
        Which policy logged: ``"random"``, or ``"bts"`` for Thompson sampling.
    campaign
        ``"all"``, ``"men"`` or ``"women"``.
    position
        Whether the slot of the item is part of the ``"context"`` (None means the same) or of the
        ``"action"``.

    Returns
    -------
    LoggedBandit
        Actions are items, the reward is ``click``, and the context holds the four features of the user and
        the slot.

    See Also
    --------
    kwis.read_log : reads any log.

    Examples
    --------
    >>> kwis.datasets.open_bandit("no such folder")
    Traceback (most recent call last):
    ...
    kwis.errors.InputError: `path` must be a folder with random/all/all.csv, got 'no such folder'
    """
    for value, argument, known in ((policy, "policy", _POLICIES), (campaign, "campaign", _CAMPAIGNS)):
        if value not in known:
            raise InputError(f"`{argument}` must be one of {', '.join(known)}, got {value!r}")
    file = Path(path) / policy / campaign / f"{campaign}.csv"
    if not file.is_file():
        raise InputError(
            f"`path` must be a folder with {policy}/{campaign}/{campaign}.csv, got {str(path)!r}"
        )
    return read_log(
        file,
        action="item_id",
        reward="click",
        propensity="propensity_score",
        propensity_source="randomiser",
        context=list(_USER),
        categorical=list(_USER),
        position="position",
        position_in=position,
        time="timestamp",
    )
