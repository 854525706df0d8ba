"""Rows of the overall tables: one per dataset and setting, and the estimators shown in them."""

from __future__ import annotations

from dataclasses import dataclass

from kwis_paper import published
from kwis_paper.beyond.columns import PIPELINES
from kwis_paper.estimates import PER_FEATURE
from kwis_paper.records import CellFacts
from kwis_paper.results import Results

WARM, PLAIN = PER_FEATURE, f"{PER_FEATURE}-plain"
ESTIMATORS = {
    "vis": "VIS",
    "wis": "WIS",
    "state-wis": "State-WIS",
    "truncated-vis": "CLPD VIS",
    "kernel-wis": "Kernel-WIS",
}
OURS = {"normalised-kernel-wis": "Normalised Kernel-WIS", "logged-mean": "Mean of logged rewards"}
PUBLISHED_COLUMN = {
    "vis": "vis",
    "wis": "wis",
    "state-wis": "state_wis",
    "truncated-vis": "clpd_vis",
    "kernel-wis": "kernel_wis",
}
SETTING_OF = {
    ("Single action", "Oracle"): "oracle",
    ("Single action", "Non-Oracle"): "non-oracle",
    ("Continuous", "Oracle"): "continuous",
}
_WORDS_OF = {setting: words for words, setting in SETTING_OF.items()}
LEFT_OUT = (("non-oracle", "kropt"), ("non-oracle", "letter"))


@dataclass(frozen=True, slots=True)
class OverallRow:
    """A dataset in a setting, and our experiments of it."""

    setting: str
    dataset: str
    cells: tuple[CellFacts, ...]

    @property
    def words(self) -> tuple[str, str]:
        return _WORDS_OF[self.setting]


def overall_rows(results: Results) -> list[OverallRow]:
    """Rows of the overall tables: the published ones, then ours."""
    table = published.table("overall")
    names = zip(table.column("reward"), table.column("behaviour"), table.column("dataset"), strict=True)
    places = [(SETTING_OF[str(reward), str(behaviour)], str(dataset)) for reward, behaviour, dataset in names]
    ours = [(setting, dataset) for setting in _WORDS_OF for dataset in results.datasets(setting)]
    extra = [place for place in ours if place not in places]
    order = list(_WORDS_OF)
    kept = sorted([*places, *extra], key=lambda place: order.index(place[0]))
    return [
        OverallRow(setting, dataset, tuple(results.chosen(setting, dataset))) for setting, dataset in kept
    ]


def extra_estimators(results: Results) -> dict[str, str]:
    """Ours that the paper has not, and those a user added."""
    known = {*ESTIMATORS, *OURS, *PIPELINES}
    own = {name: name for name in results.outcomes if name not in known and not name.startswith(PER_FEATURE)}
    return OURS | own
