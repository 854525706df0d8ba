"""Settings for all tests: properties are tried on the same examples every time, however slow the machine, and
the workers of pytest-xdist leave the cores to each other.
"""

import os

from hypothesis import settings

if "PYTEST_XDIST_WORKER" in os.environ:
    # Threads of OpenMP spin while they wait for each other, too dear for two workers on two cores. Set here,
    # because libraries read it when they are loaded.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("kwis", derandomize=True, deadline=None, database=None, max_examples=60)
settings.load_profile("kwis")
