"""
A folder larger than memory
===========================

:func:`kwis.scan_log` only points at Parquet files; the evaluation reads them batch by batch. The folder here is small, the call is the same.
"""

import tempfile
from pathlib import Path

import kwis

folder = Path(tempfile.mkdtemp())
for day in range(3):
    kwis.sample_log(400, rng=day).write(folder / f"day-{day}.parquet")

context = ["country", "device", "age", "member"]
log = kwis.scan_log(folder, reward="click", propensity="propensity", context=context)
evaluation = kwis.evaluate(log, "p_new")
print(evaluation.recommended)

# %%

evaluation.plot("weights")
