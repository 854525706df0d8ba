"""The same names under ``ope``, as in ``from obp.ope import ...``."""

from kwis.compat.obp import *  # noqa: F403
from kwis.compat.obp import __all__  # noqa: F401
