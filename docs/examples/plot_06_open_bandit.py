"""
The Open Bandit Dataset's shape of data
=======================================

:func:`kwis.datasets.open_bandit` reads the folders of the Open Bandit Dataset and downloads nothing. ``KWIS_OPEN_BANDIT`` names them, if you have
them; else a small folder of the same shape is made up here.
"""

import csv
import os
import tempfile
from pathlib import Path

import numpy as np

import kwis
from kwis.datasets import open_bandit

folder = os.environ.get("KWIS_OPEN_BANDIT")
if folder is None:
    folder = tempfile.mkdtemp()
    rng = np.random.default_rng(4)
    liking = rng.dirichlet(np.ones(10))
    for policy, shown in (("random", np.full(10, 0.1)), ("bts", liking)):
        place = Path(folder) / policy / "all"
        place.mkdir(parents=True)
        with (place / "all.csv").open("w", newline="") as file:
            out = csv.writer(file)
            users = [f"user_feature_{number}" for number in range(4)]
            out.writerow(["timestamp", "item_id", "position", "click", "propensity_score", *users])
            for row in range(3000):
                item = rng.choice(10, p=shown)
                when = f"2019-11-24 {row // 3600:02}:{row // 60 % 60:02}:{row % 60:02}"
                click = int(rng.random() < 0.02 + 0.3 * liking[item])
                out.writerow([when, item, rng.integers(1, 4), click, shown[item], *rng.integers(0, 3, 4)])

log = open_bandit(folder, "random")
print(log.describe())

# %%
# What would Thompson sampling have earned, judged by the log of the random policy? It does not look at the user, so its distribution is how often it
# showed each item. Its own log knows the answer.

own = open_bandit(folder, "bts")
shares = {name: float((own.action == code).mean()) for code, name in enumerate(own.action_names)}
everywhere = {name: shares.get(name, 0.0) for name in log.action_names}
evaluation = kwis.evaluate(log, {"bts": everywhere})
print(evaluation.recommended)
print(f"from its own log: {own.reward.mean():.4f}")

# %%

evaluation.plot("forest")
