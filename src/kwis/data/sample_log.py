"""A small realistic log with known answers, for the demo, the guide and the tests.

A shop chooses between a banner, an email and a push message. The logging policy depends on the context and
explores; the log keeps the propensity of what was chosen. In Brazil somebody raised the share of push
messages without telling the log, so the propensities logged there are wrong (unless
``right_propensities=True``). Two candidate policies are in the log as columns: ``p_new``, which leans towards
what works, and ``p_bold``, which leans further.

Contexts are drawn from a product of finite sets, users have an effect of their own of mean zero, and clicks
depend on context and action; so the true value of each policy is a finite sum, and ``truth`` holds it
exactly.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis._call import Call, call_of
from kwis.data.columns import Array
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.typing import Floats, Seed

ACTIONS = ("banner", "email", "push")
CONTEXT = ("country", "device", "age", "member", "signup", "hour")
TARGETS = ("p_new", "p_bold")
_MARK = "kwis sample log"
_COUNTRIES, _COUNTRY_SHARES = ("BR", "DE", "FR", "IN", "US"), (0.15, 0.2, 0.15, 0.2, 0.3)
_DEVICES, _DEVICE_SHARES = ("desktop", "phone", "tablet", None), (0.4, 0.45, 0.1, 0.05)
_AGES = np.arange(18, 70)
_AGE_UNKNOWN = 0.04
_MEMBERS = 0.35
_QUARTERS = np.arange("2021-01", "2024-01", 3, dtype="datetime64[M]").astype("datetime64[us]")
_HOUR_SHARES = (1.5 + np.cos(2 * np.pi * (np.arange(24) - 19) / 24)) / 36
_LARGEST_RATE = 0.6  # times 1 + a user's effect of at most a half, still a probability
_SPREAD = 0.5


@dataclass(frozen=True, slots=True)
class _Contexts:
    """Contexts as the shop sees them: codes of country and device, age (NaN if unknown), quarter of signup,
    hour.

    Arrays of shapes that go together: one entry per row of a log, or one axis each for all combinations.
    """

    country: Array
    device: Array
    age: Array
    member: Array
    quarter: Array
    hour: Array

    @property
    def maturity(self) -> Floats:
        return np.where(np.isnan(self.age), 0.0, (self.age - 43.5) / 15)

    @property
    def evening(self) -> Floats:
        return np.cos(2 * np.pi * (self.hour - 20) / 24)

    def appeal(self) -> Floats:
        """``(n, 3)`` how well each action works, in logits."""
        on_desktop, on_phone = self.device == 0, self.device == 1
        banner = -0.9 + 0.5 * self.maturity + 0.3 * on_desktop - 0.4 * self.quarter / 11
        email = -0.7 + 0.8 * self.member - 0.3 * self.maturity + 0.3 * (self.country == 1)
        push = (
            -1.0
            + 0.7 * on_phone
            + 0.4 * self.evening
            + 0.9 * (self.country == 0)
            + 0.4 * (self.country == 3)
            - 0.2 * self.maturity
        )
        return np.stack(np.broadcast_arrays(banner, email, push), axis=-1)

    def click_rate(self) -> Floats:
        return _LARGEST_RATE / (1 + np.exp(-self.appeal()))

    def basket(self) -> Floats:
        """Mean of the logarithm of what a click brings."""
        return 2.5 + 0.3 * self.maturity + 0.3 * self.member

    def ordinary(self) -> Floats:
        """The logging policy as the log knows it."""
        return _soft(self._habit())

    def actual(self) -> Floats:
        """The logging policy as it was: more push messages in Brazil."""
        habit = self._habit()
        habit[..., 2] += 0.8 * (self.country == 0)
        return _soft(habit)

    def candidate(self, name: str) -> Floats:
        return _soft({"p_new": 2.0, "p_bold": 5.0}[name] * self.appeal())

    def _habit(self) -> Floats:
        banner = 0.2 * self.maturity + 0.2 * (self.device == 0)
        email = 0.3 + 0.4 * self.member
        push = 0.3 * (self.device == 1) + 0.3 * self.evening
        return np.stack(np.broadcast_arrays(banner, email, push), axis=-1)


def _soft(logits: Floats) -> Floats:
    """Softmax, with one choice in ten left to chance."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return 0.9 * powers / powers.sum(axis=-1, keepdims=True) + 0.1 / logits.shape[-1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SampleLog:
    """The sample log.

    Attributes
    ----------
    table
        Columns by name, as NumPy arrays: NaN or None where a value is missing.
    truth
        True value of ``"logger"``, ``"p_new"`` and ``"p_bold"``, each for ``"click"`` and ``"revenue"``:
        means over the population the contexts were drawn from, exact.
    wrong_where
        Column and value of the contexts whose propensities are wrong; None if all are right.
    call
        The call that made it; None if a generator was used up for it.
    """

    table: Mapping[str, Array]
    truth: Mapping[str, Mapping[str, float]]
    wrong_where: tuple[str, str] | None
    call: Call | None = None

    def __repr__(self) -> str:
        wrong = (
            "" if self.wrong_where is None else f"; propensities are wrong where {'='.join(self.wrong_where)}"
        )
        return f"SampleLog: {len(self.table['action']):,} decisions, columns {', '.join(self.table)}{wrong}"

    def read(self, **arguments: Any) -> LoggedBandit:
        """The log as :func:`kwis.read_log` reads it, with every column in its role unless ``arguments`` say
        otherwise.
        """
        from kwis.data.read.read_log import read_log

        log = read_log(self.table, **{**self.arguments, **arguments})
        if self.call is None or log.call is None:
            return log
        source = {"source": f"{self.call.code}.table"}
        return replace(log, call=replace(log.call, arguments={**log.call.arguments, **source}, variables={}))

    @property
    def arguments(self) -> dict[str, Any]:
        """What :func:`kwis.read_log` has to be told about the table."""
        named = {"action": "action", "propensity": "propensity", "group": "user", "time": "time"}
        return {**named, "reward": ["click", "revenue"], "context": list(CONTEXT)}

    def write(self, path: str | Path, name: str = "path") -> Path:
        """Write the table as CSV or Parquet, by the suffix of ``path``; no file but another sample log is
        replaced.
        """
        from kwis.data.read.duck import clear_errors, connect, literal
        from kwis.runtime.writing import writable

        if Path(path).suffix not in (".csv", ".parquet"):
            raise InputError(f"`{name}` must end with .csv or .parquet, got {str(path)!r}")
        target = writable(path, name, (_MARK.encode(), ",".join(self.table).encode()))
        options = (
            "FORMAT csv"
            if Path(path).suffix == ".csv"
            else f"FORMAT parquet, KV_METADATA {{generator: {literal(_MARK)}}}"
        )
        with connect() as connection, clear_errors(f"cannot write {str(path)!r}"):
            connection.register("sample", dict(self.table))
            connection.execute(f"COPY (SELECT * FROM sample) TO {literal(str(target))} ({options})")
        return Path(path)


def sample_log(n: int = 4000, rng: Seed = 0, *, right_propensities: bool = False) -> SampleLog:
    """Generate the sample log: ``n`` decisions in the order of their time, about three per user.

    Parameters
    ----------
    n
        Number of decisions.
    rng
        A seed or a generator.
    right_propensities
        Log the probabilities that were drawn with. Otherwise those of one country are wrong, so that there is
        something to find.

    Returns
    -------
    SampleLog
        ``read()`` gives the log as :func:`kwis.read_log` reads it, ``write(path)`` a file of it, and
        ``truth`` the exact value of every policy.

    See Also
    --------
    kwis.read_log : reads a log of your own.
    kwis.evaluate : estimates what ``truth`` holds.

    Examples
    --------
    >>> sample = kwis.sample_log(10)
    >>> sorted(sample.truth)
    ['logger', 'p_bold', 'p_new']
    """
    call = call_of(sample_log, locals())
    count = check.whole(n, "n", 1)
    draw = check.generator(rng)
    users = _contexts_of_users(max(1, count // 3), draw)
    user = draw.integers(len(users.age), size=count)
    contexts, time = _visits(users, user, draw)
    actual, ordinary = contexts.actual(), contexts.ordinary()
    action = (draw.random(count)[:, None] > actual.cumsum(axis=1)[:, :-1]).sum(axis=1)
    effect = draw.uniform(-0.5, 0.5, len(users.age))
    rows = np.arange(count)
    click = draw.random(count) < contexts.click_rate()[rows, action] * (1 + effect[user])
    revenue = np.where(click, np.exp(contexts.basket() + _SPREAD * draw.standard_normal(count)), 0.0)
    logged = actual if right_propensities else ordinary
    table: dict[str, Array] = {
        "time": time,
        "user": user + 1,
        "country": np.array(_COUNTRIES, dtype=object)[contexts.country],
        "device": np.array(_DEVICES, dtype=object)[contexts.device],
        "age": contexts.age,
        "member": contexts.member,
        "signup": _QUARTERS[contexts.quarter],
        "hour": contexts.hour,
        "action": np.array(ACTIONS, dtype=object)[action],
        "propensity": logged[rows, action],
        "click": click.astype(np.int64),
        "revenue": revenue,
    }
    for name in TARGETS:
        whole = contexts.candidate(name)
        table[name] = whole[rows, action]
        table.update({f"{name}_{label}": whole[:, j] for j, label in enumerate(ACTIONS)})
    return SampleLog(
        table=table,
        truth=_truth(),
        wrong_where=None if right_propensities else ("country", "BR"),
        call=None if isinstance(rng, np.random.Generator) else call,
    )


def _contexts_of_users(count: int, draw: np.random.Generator) -> _Contexts:
    age = draw.choice(_AGES, count).astype(np.float64)
    age[draw.random(count) < _AGE_UNKNOWN] = np.nan
    return _Contexts(
        country=draw.choice(len(_COUNTRIES), count, p=_COUNTRY_SHARES),
        device=np.zeros(count, dtype=np.int64),
        age=age,
        member=draw.random(count) < _MEMBERS,
        quarter=draw.integers(len(_QUARTERS), size=count),
        hour=np.zeros(count, dtype=np.int64),
    )


def _visits(users: _Contexts, user: Array, draw: np.random.Generator) -> tuple[_Contexts, Array]:
    """What a visit adds to its user: device, hour and moment; visits of a user are spread over four weeks."""
    n = len(user)
    hour = draw.choice(24, n, p=_HOUR_SHARES)
    seconds = np.sort(draw.integers(28, size=n)) * 86_400 + hour * 3600 + draw.integers(3600, size=n)
    contexts = _Contexts(
        country=users.country[user],
        device=draw.choice(len(_DEVICES), n, p=_DEVICE_SHARES),
        age=users.age[user],
        member=users.member[user],
        quarter=users.quarter[user],
        hour=hour,
    )
    return contexts, np.datetime64("2024-03-04", "us") + seconds * np.timedelta64(1_000_000, "us")


@functools.lru_cache(maxsize=1)
def _truth() -> dict[str, dict[str, float]]:
    """Values of the three policies, summed over every context there is."""
    ages = np.append(_AGES.astype(np.float64), np.nan)
    age_shares = np.append(np.full(len(_AGES), (1 - _AGE_UNKNOWN) / len(_AGES)), _AGE_UNKNOWN)
    truth = {name: {"click": 0.0, "revenue": 0.0} for name in ("logger", *TARGETS)}
    sets = (np.arange(len(_DEVICES)), ages, np.array([False, True]), np.arange(len(_QUARTERS)), np.arange(24))
    shares = (
        _DEVICE_SHARES,
        age_shares,
        (1 - _MEMBERS, _MEMBERS),
        np.full(len(_QUARTERS), 1 / len(_QUARTERS)),
        _HOUR_SHARES,
    )
    share = functools.reduce(np.multiply.outer, [np.asarray(part) for part in shares])
    for country, country_share in enumerate(_COUNTRY_SHARES):
        contexts = _Contexts(np.asarray(country), *np.meshgrid(*sets, indexing="ij", sparse=True))
        rate, worth = contexts.click_rate(), np.exp(contexts.basket() + _SPREAD**2 / 2)
        for name, values in truth.items():
            policy = contexts.actual() if name == "logger" else contexts.candidate(name)
            clicks = country_share * share * (policy * rate).sum(axis=-1)
            values["click"] += float(clicks.sum())
            values["revenue"] += float((clicks * worth).sum())
    return truth
