"""
Gate a deployment
=================

In a pipeline, the lower end of the interval has to be above today's value: ``kwis evaluate --fail-below 0.25 --using low`` exits with 0 or 1. In Python:
"""

import kwis

kwis.sample_log(2000, right_propensities=True).write("gate.parquet")
context = ["country", "device", "age", "member", "signup", "hour"]
evaluation = kwis.evaluate(
    "gate.parquet", "p_bold", reward="click", propensity="propensity", context=context, group="user"
)
found = evaluation.recommendation()
passed = found.change.interval.low > 0 and found.row.verdict.level != "do not trust"
print(found)
print("deploy" if passed else "do not deploy")

# %%
# The same as a command:

from kwis.cli.main import main

code = main(
    [
        "evaluate",
        "gate.parquet",
        "--reward",
        "click",
        "--context",
        ",".join(context),
        "--group",
        "user",
        "--target",
        "p_bold",
        "--estimator",
        "wis",
        "--fail-below",
        "0.2",
        "--using",
        "low",
    ]
)
print("exit code", code)

# %%

evaluation.plot("forest")
