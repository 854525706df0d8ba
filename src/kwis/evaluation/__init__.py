"""From a log and target policies to an answer: estimates, comparisons, diagnostics and a recommendation.

``evaluate`` is the one orchestration function; ``records`` and ``answer`` are what it returns; ``recommend``
is the rule that picks one estimate per target.
"""

from kwis.result.evaluation import Evaluation
from kwis.result.records import (
    LOGGING_POLICY,
    Change,
    Path,
    Place,
    Ranking,
    Recommendation,
    Row,
    Segment,
    Segments,
    Sensitivity,
    Settings,
)

__all__ = [
    "LOGGING_POLICY",
    "Change",
    "Evaluation",
    "Path",
    "Place",
    "Ranking",
    "Recommendation",
    "Row",
    "Segment",
    "Segments",
    "Sensitivity",
    "Settings",
]
