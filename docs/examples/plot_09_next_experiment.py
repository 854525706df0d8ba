"""
How large must the next experiment be?
======================================

:func:`kwis.plan` says how many decisions tell a policy from the one that logs, from a log that you have.
"""

import matplotlib.pyplot as plt

import kwis

kwis.sample_log(1500).write("plan.parquet")
log = kwis.read_log("plan.parquet", reward="click", propensity="propensity", context=["country", "device"])
plan = kwis.plan(log, "p_new", difference=0.02, estimators=["wis"])
print(plan)

# %%
# Smaller differences need many more decisions.

differences = [0.01, 0.02, 0.04]
decisions = [kwis.plan(log, "p_new", difference=value, estimators=["wis"]).rows for value in differences]
plt.loglog(differences, decisions, "o-")
plt.xlabel("difference not to be missed")
plt.ylabel("decisions")
plt.show()
