"""``kwis distribution``: how a reward would be distributed under each policy."""

from __future__ import annotations

from kwis.cli import options as opt
from kwis.cli.limit import TimeLimit, time_limit
from kwis.cli.progress import progress
from kwis.cli.reading import LogOptions, takes_log
from kwis.cli.targets import targets_of
from kwis.cli.terminal import clear_errors, print_answer

SCHEMA = "kwis-distribution/1"
"""Name and version of the JSON printed."""
EXAMPLES = (
    "kwis distribution log.parquet --reward latency --context age,country --target p_new",
    "kwis distribution log.csv --reward spend --context age --target A=p_new --target uniform --json",
)


@takes_log()
def distribution(
    named: LogOptions,
    target: opt.Target,
    action_features: opt.ActionFeatures = None,
    repair: opt.Repair = opt.RepairChoice.AUTO,
    level: opt.Level = 0.95,
    seed: opt.Seed = 0,
    limit: TimeLimit = None,
    json: opt.Json = False,
) -> None:
    """Say what share of a reward would be at or below each value, under every target and the logging policy.

    Of several rewards the first counts. The band of each policy holds at all values together.
    """
    with clear_errors(), time_limit(limit):
        with progress(f"reading {named.source}"):
            read = named.read()
            targets = targets_of(target, read.table)
            from kwis.evaluation.spread_of_rewards import reward_distributions

            found = reward_distributions(
                read, targets, action_features=action_features, repair=repair.value, level=level, rng=seed
            )
        print_answer(_json(found) if json else repr(found))


def _json(found: object) -> str:
    import json

    from kwis._text import escaped_in_json
    from kwis.result.output import plain

    content = {"schema": SCHEMA, "distribution": plain(found)}
    return escaped_in_json(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
