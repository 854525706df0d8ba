"""From an evaluation to the page that shows it: which sections there are, and in which order."""

from __future__ import annotations

from datetime import UTC, datetime

from kwis.report.sections.answer import answer
from kwis.report.sections.comparison import policies, segments
from kwis.report.sections.estimates import estimates
from kwis.report.sections.history import drift, influential_rows
from kwis.report.sections.local import local_mean_weight
from kwis.report.sections.path import bandwidth_path
from kwis.report.sections.propensity import propensities
from kwis.report.sections.sensitivity import sensitivity
from kwis.report.sections.settings import reproduce
from kwis.report.sections.trust import trust
from kwis.report.sections.weights import weights
from kwis.report.view import Page
from kwis.report.wording import listed
from kwis.result.evaluation import Evaluation
from kwis.result.presentation import shown

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_ORDER = (
    estimates,
    trust,
    policies,
    segments,
    sensitivity,
    drift,
    weights,
    propensities,
    local_mean_weight,
    bandwidth_path,
    influential_rows,
    reproduce,
)


def page_of(evaluation: Evaluation) -> Page:
    """Everything the report shows, in its order: the answer, then the evidence, then what reproduces it."""
    evaluation = shown(evaluation)
    top = answer(evaluation)
    found = (make(evaluation) for make in _ORDER)
    return Page(
        title=f"{listed(evaluation.targets[:3])} · policy evaluation",
        kicker=f"{top.kicker} · {_today()}",
        answer=top.words,
        support=top.support,
        badge=top.badge,
        cards=top.cards,
        sections=tuple(section for section in found if section is not None),
        colophon=(
            f"Made with kwis {evaluation.settings.version}. This file needs nothing else and sends "
            f"nothing anywhere."
        ),
    )


def _today() -> str:
    """``report of 18 November 2026``; months are named here, whatever the language of the machine."""
    today = datetime.now(tz=UTC).astimezone().date()
    return f"report of {today.day} {_MONTHS[today.month - 1]} {today.year}"
