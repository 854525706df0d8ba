"""What the study asks of every regime, and which regimes fall short of it."""

import math

LEAST_COVERED = 0.91  # of 95 % intervals; or else
LEAST_DISTRUSTED = 0.9  # of the uncovered answers are called "do not trust"
MOST_TRUST_WRONG = 0.08
MOST_ERROR = 1.1  # of the best estimator's, and of the given propensities' after a repair of right ones
ALARMS = (0.02, 0.08)
MOST_REPAIRS = 0.06
MOST_HEAVY = 0.02  # of logs with bounded weights that have a tail index above 0.7
MOST_FALSE_CLAIMS = 0.07
FEWEST = 15  # verdicts of a kind, below which their shares say nothing

_BOUNDED = ("uniform/", "epsilon/", "tail/discrete", "tail/two digits", "tail/tenths", "small/rules")


def shortfalls(line, before=None):
    """Sentences on where one regime falls short; ``before`` is the same regime by another version, for the
    power of the tests.
    """
    if not line.logs:
        return ["no log was evaluated"]
    return [*_alarms(line, before), *(_answers(line) if not math.isnan(line["value"]) else ())]


def _percent(share):
    return f"{100 * share:.0f} %"


def _independent(line):
    """Whether the rows are what the log says they are: users that nobody declared break every test."""
    return line.kind == "right" and "undeclared" not in line.regime


def _alarms(line, before):
    if _independent(line) and not ALARMS[0] <= line["alarm"] <= ALARMS[1]:
        yield f"false alarms {_percent(line['alarm'])}"
    if _independent(line) and line["repaired"] > MOST_REPAIRS:
        yield f"right propensities repaired in {_percent(line['repaired'])}"
    if (
        line.kind == "misreport"
        and before is not None
        and before.logs
        and before["alarm"] - line["alarm"] > _chance(line, before)
    ):
        yield f"alarms in {_percent(line['alarm'])}, before in {_percent(before['alarm'])}"


def _chance(line, before):
    """Two standard errors of the difference of two shares."""
    return 2 * math.sqrt(
        sum(max(one["alarm"] * (1 - one["alarm"]), 0.01) / one.logs for one in (line, before))
    )


def _answers(line):
    if line.kind == "hidden":
        return
    for what in ("value", "difference"):
        if (
            line.kind != "trained"
            and line[what] < LEAST_COVERED
            and not line["uncovered distrusted"] >= LEAST_DISTRUSTED
        ):
            yield (
                f"{what} covered in {_percent(line[what])}, {_percent(line['uncovered distrusted'])} of "
                f"uncovered answers distrusted"
            )
        if line["trust"] * line.logs >= FEWEST and line[f"trust wrong {what}"] > MOST_TRUST_WRONG:
            yield (
                f"{what} not covered in {_percent(line[f'trust wrong {what}'])} of the answers to be trusted"
            )
    if line.kind != "trained" and line["ratio"] > MOST_ERROR:
        yield f"error {line['ratio']:.2f} times the best"
    if line.kind == "right" and line["repair"] > MOST_ERROR:
        yield f"error {line['repair']:.2f} times that of the given propensities"
    if line.kind == "trained" and line["trust"] > 0:
        yield f"trusted in {_percent(line['trust'])}"
    if line["segments"] < LEAST_COVERED:
        yield f"all segments covered in {_percent(line['segments'])}"
    if line.regime.startswith(_BOUNDED) and line["k>0.7"] > MOST_HEAVY:
        yield f"bounded weights called heavy in {_percent(line['k>0.7'])}"
    if line.regime.startswith("ten/") and line["false claims"] > MOST_FALSE_CLAIMS:
        yield f"a false claim printed in {_percent(line['false claims'])}"
