from __future__ import annotations

from tests.evaluation.conftest import evaluation, log, sample

__all__ = ["evaluation", "log", "sample"]
