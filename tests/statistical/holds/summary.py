"""Tables from the records, by regime."""

from dataclasses import dataclass

import numpy as np

from tests.statistical.holds.aims import shortfalls
from tests.statistical.holds.record import ESTIMATORS
from tests.statistical.holds.regimes import all_regimes


@dataclass(frozen=True)
class Line:
    """What became of one regime; shares are of logs and targets, ``nan`` where there is nothing to count."""

    regime: str
    variant: str
    kind: str
    logs: int
    failed: int
    shares: dict[str, float]

    def __getitem__(self, name):
        return self.shares.get(name, float("nan"))


def lines_of(records):
    """One line per regime and set of designs, in the order of the regimes."""
    order = {name: i for i, name in enumerate(all_regimes())}
    groups = {}
    for record in records:
        groups.setdefault((record["regime"], record["variant"]), []).append(record)
    keys = sorted(groups, key=lambda key: (order.get(key[0], len(order)), key))
    return [_line(*key, groups[key]) for key in keys]


def _line(regime, variant, records):
    good = list({(one["seed"], one["target"]): one for one in records if "error" not in one}.values())
    finished = {one["seed"] for one in good}
    failed = {one["seed"] for one in records if "error" in one} - finished
    logs = list({one["seed"]: one for one in good}.values())
    kind = good[0]["kind"] if good else all_regimes()[regime].kind
    shares = {}
    if good:
        shares |= _alarms(logs)
        if "value" in good[0]:
            shares |= _answers(good, logs) | _errors(good)
    return Line(regime, variant, kind, len(logs), len(failed), shares)


def _share(flags):
    flags = list(flags)
    return float(np.mean(flags)) if flags else float("nan")


def _alarms(logs):
    return {
        "alarm": _share(one["alarm"] for one in logs),
        "contradicted": _share(one["contradicted"] for one in logs),
        "repaired": _share(one.get("repaired", False) for one in logs),
        "detected": _share(one["alarm"] or one.get("repaired", False) for one in logs),
    }


def covers(one, prefix=""):
    """Whether the intervals of value and difference hold the truth."""
    dot = f"{prefix}." if prefix else ""
    value = one[f"{dot}low"] <= one["truth"] <= one[f"{dot}high"]
    return value, one[f"{dot}difference_low"] <= one["difference_truth"] <= one[f"{dot}difference_high"]


def _answers(good, logs):
    held = [covers(one) for one in good]
    both = [all(pair) for pair in held]
    verdicts = [one["verdict"] for one in good]
    shares = {
        "value": _share(pair[0] for pair in held),
        "difference": _share(pair[1] for pair in held),
        "trust": _share(v == "trust" for v in verdicts),
        "care": _share(v == "with care" for v in verdicts),
        "no trust": _share(v == "do not trust" for v in verdicts),
        "trust wrong value": _share(
            not pair[0] for pair, v in zip(held, verdicts, strict=True) if v == "trust"
        ),
        "trust wrong difference": _share(
            not pair[1] for pair, v in zip(held, verdicts, strict=True) if v == "trust"
        ),
        "uncovered distrusted": _share(
            v == "do not trust" for ok, v in zip(both, verdicts, strict=True) if not ok
        ),
        "k>0.7": _share((one["pareto_k"] or 0) > 0.7 for one in good),
        "k>1": _share((one["pareto_k"] or 0) > 1 for one in good),
        "false claims": _share(bool(one["false_claims"]) for one in logs),
        "seconds": float(np.mean([one["seconds"] for one in logs])),
        "width": float(np.median([one["high"] - one["low"] for one in good])),
    }
    for name in ESTIMATORS:
        known = [covers(one, name) for one in good if f"{name}.low" in one]
        shares |= {
            f"{name} value": _share(p[0] for p in known),
            f"{name} difference": _share(p[1] for p in known),
        }
    if "segments_together" in good[0]:
        shares["segments"] = _share(one["segments_together"] for one in good)
    return shares


def _rmse(pairs):
    errors = np.array([value - truth for value, truth in pairs if value is not None])
    return float(np.sqrt((errors**2).mean())) if errors.size else float("nan")


def _errors(good):
    """Root mean squared errors, of each target by itself and then averaged in proportion, as targets differ
    in scale.
    """
    ratios = {"ratio": [], "repair": [], "oracle": [], "rmse": [], "bias": []}
    for target in dict.fromkeys(one["target"] for one in good):
        own = [one for one in good if one["target"] == target]
        recommended = _rmse((one["value"], one["truth"]) for one in own)
        each = [_rmse((one.get(f"{name}.value"), one["truth"]) for one in own) for name in ESTIMATORS]
        given = _rmse(
            (one["value"] if one["as_given"] is None else one["as_given"], one["truth"]) for one in own
        )
        oracle = _rmse((one["oracle"], one["truth"]) for one in own)
        ratios["ratio"].append(recommended / np.nanmin(each))
        ratios["repair"].append(recommended / given)
        ratios["oracle"].append(recommended / oracle)
        ratios["rmse"].append(recommended)
        ratios["bias"].append(float(np.mean([one["value"] - one["truth"] for one in own])))
    return {name: float(np.mean(values)) for name, values in ratios.items()}


COLUMNS = (
    ("value", "value", "pct"),
    ("difference", "diff", "pct"),
    ("segments", "segm", "pct"),
    ("ratio", "err/best", "num"),
    ("repair", "err/given", "num"),
    ("oracle", "err/true", "num"),
    ("alarm", "alarm", "pct"),
    ("contradicted", "contra", "pct"),
    ("repaired", "repair", "pct"),
    ("trust", "trust", "pct"),
    ("care", "care", "pct"),
    ("no trust", "no", "pct"),
    ("trust wrong value", "tr.wr.v", "pct"),
    ("trust wrong difference", "tr.wr.d", "pct"),
    ("uncovered distrusted", "unc.no", "pct"),
    ("k>0.7", "k>.7", "pct"),
    ("k>1", "k>1", "pct"),
    ("false claims", "claims", "pct"),
    ("seconds", "sec", "num"),
)


def shown(value, style):
    if np.isnan(value):
        return "-"
    return f"{100 * value:.0f}" if style == "pct" else f"{value:.2f}"


def table(lines, baseline=()):
    """Plain text, one regime per line; with a baseline its figures stand below each line."""
    before = {(line.regime, line.variant): line for line in baseline}
    width = max([len(line.regime) for line in lines], default=10) + 2
    heads = "".join(f"{head:>10s}" for _, head, _ in COLUMNS)
    out = [f"{'regime':{width}s}{'set':>8s}{'logs':>6s}{heads}"]
    for line in lines:
        out.append(_row(line, f"{line.regime:{width}s}{line.variant:>8s}"))
        if (old := before.get((line.regime, line.variant))) is not None:
            out.append(_row(old, f"{'   before':{width}s}{'':>8s}"))
    out += _shortfalls(lines, before)
    failed = sum(line.failed for line in lines)
    out.append(
        f"{failed} LOGS FAILED: " + ", ".join(line.regime for line in lines if line.failed)
        if failed
        else "no log failed"
    )
    return "\n".join(out)


def _shortfalls(lines, before):
    found = [(line, shortfalls(line, before.get((line.regime, line.variant)))) for line in lines]
    return [
        "",
        "Falling short of the aims:",
        *(f"  {line.regime} ({line.variant}): {'; '.join(said)}" for line, said in found if said),
        "",
    ]


def _row(line, start):
    cells = "".join(f"{shown(line[name], style):>10s}" for name, _, style in COLUMNS)
    return f"{start}{line.logs:>6d}{cells}" + (f"  {line.failed} FAILED" if line.failed else "")


def estimators_table(lines):
    """Coverage of each estimator by itself, value / difference."""
    width = max([len(line.regime) for line in lines], default=10) + 2
    out = [
        f"{'regime':{width}s}{'set':>8s}"
        + "".join(
            f"{name.replace('normalised-kernel', 'nk').replace('doubly-robust', 'dr'):>16s}"
            for name in ESTIMATORS
        )
    ]
    for line in lines:
        cells = (
            f"{shown(line[f'{name} value'], 'pct')} / {shown(line[f'{name} difference'], 'pct')}"
            for name in ESTIMATORS
        )
        out.append(f"{line.regime:{width}s}{line.variant:>8s}" + "".join(f"{cell:>16s}" for cell in cells))
    return "\n".join(out)
