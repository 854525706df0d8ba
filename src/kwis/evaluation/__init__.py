"""From a log and target policies to an answer: estimates, comparisons, diagnostics and a recommendation.

``run`` is the door, ``flow`` the order in which things are done; ``recommend`` is the rule that picks one
estimate per target. What they return is in :mod:`kwis.result`.
"""

from kwis.result.evaluation import Evaluation
from kwis.result.odds import Sensitivity
from kwis.result.records import LOGGING_POLICY, Change, Path, Place, Ranking, Recommendation, Row, Settings
from kwis.result.segmented import Segment, Segments

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
