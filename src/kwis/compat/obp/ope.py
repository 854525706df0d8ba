"""The same names under ``ope``, as in ``from obp.ope import ...``, and under its submodules, as in
``from obp.ope.estimators import ...``.
"""

import sys

from kwis.compat.obp import *  # noqa: F403
from kwis.compat.obp import __all__  # noqa: F401

SUBMODULES = (
    "classification_model",
    "estimators",
    "estimators_continuous",
    "estimators_embed",
    "estimators_multi",
    "estimators_slate",
    "estimators_tuning",
    "meta",
    "meta_continuous",
    "meta_multi",
    "meta_slate",
    "regression_model",
    "regression_model_slate",
)
for submodule in SUBMODULES:
    sys.modules[f"{__name__}.{submodule}"] = sys.modules[__name__]
