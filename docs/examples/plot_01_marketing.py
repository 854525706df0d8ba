"""
Would bolder messages bring more revenue?
=========================================

A shop chose between a banner, an email and a push message, and logged what it earned. Would two bolder policies have earned more?
"""

import kwis

sample = kwis.sample_log(2000)
sample.write("shop.parquet")
context = ["country", "device", "age", "member", "signup", "hour"]
evaluation = kwis.evaluate(
    "shop.parquet",
    ["p_new", "p_bold"],
    reward="revenue",
    propensity="propensity",
    context=context,
    group="user",
)
print(evaluation.recommended)

# %%
# The log is made up, so we know the true values.

for policy in ("logger", "p_new", "p_bold"):
    print(f"{policy}: {sample.truth[policy]['revenue']:.3f}")

# %%
# All estimates with their intervals. Spending is skewed: few customers spend most.

evaluation.plot("forest")
