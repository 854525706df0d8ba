"""The answer of :func:`kwis.evaluate`: everything it found, and the ways to show or keep it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from kwis import _validation as check
from kwis._text import visible
from kwis.result.records import Change, Path, Ranking, Recommendation, Row, Settings
from kwis.result.segmented import SEGMENTS_SHOWN, Segments
from kwis.typing import Floats

if TYPE_CHECKING:
    from kwis.checks.findings import Drift, PropensityReport, TargetDiagnostics
    from kwis.checks.training import TrainingCheck
    from kwis.evaluation.mend import Repair
    from kwis.evaluation.robustness import Robustness
    from kwis.evaluation.scope import Scope
    from kwis.result.text_table import TextTable


class Recommended(dict[str, Recommendation]):
    """From target to recommendation for one reward; prints as sentences, and names the other rewards."""

    def __init__(self, found: Iterable[Recommendation], others: Sequence[str] = ()) -> None:
        super().__init__({one.target: one for one in found})
        self.others = tuple(others)

    def __repr__(self) -> str:
        parts = [repr(found) for found in self.values()]
        if self.others:
            parts.append(visible(f"print(evaluation) has the other rewards too: {', '.join(self.others)}"))
        return "\n\n".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return Recommended, (tuple(self.values()), self.others)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Evaluation:
    """Estimates of several policies, how they compare, whether to trust them, and which to use.

    Attributes
    ----------
    rows
        Every policy by every estimator and for every reward, the logging policy first.
    changes
        Each target against the logging policy by every estimator, then each pair of targets.
    recommended, recommendations
        From target to the estimate to use, for the first reward; and those of all rewards.
    diagnostics
        From target to what was found about its weights.
    propensity
        What was found about the propensities as they are in the log, whatever the target.
    settings
        Everything that reproduces the evaluation, the call among it.
    repair
        What became of testing logged propensities against the actions taken, and of repairing them; None
        where that was not done.
    rankings
        One per reward, the first reward first, where there are targets to be ranked.
    paths
        Normalised Kernel-WIS of each target and reward along the bandwidth, from State-WIS to WIS.
    segments
        One per split of ``by``, with estimates and differences of every segment.
    drift
        Change over time or between loggers, where the log has either.
    weights
        From target to the importance weight of every row.
    notes
        What was done to the log and decided on the way, in sentences.
    sensitivity
        For every recommendation, how wrong the odds of the propensities would have to be to undo what is said
        of it.
    scope
        What was checked, and what no log can show.
    training
        Whether targets seem to have learnt from the rows that evaluate them, by target and reward.

    See Also
    --------
    kwis.evaluate : makes it.
    kwis.load : reads one that was saved.
    kwis.diff : compares two.

    Examples
    --------
    >>> frame = kwis.sample_log(300, rng=1)
    >>> evaluation = kwis.evaluate(frame.read(), "p_new", estimators=["wis"], repair="never")
    >>> isinstance(evaluation, kwis.Evaluation), evaluation.targets, evaluation.rewards
    (True, ('p_new',), ('click', 'revenue'))
    >>> print(evaluation.recommendation(reward="click"))
    p_new, click: 0.319 (95% 0.261 to 0.384) by wis
      better than the logging policy (+0.049, 95% +0.024 to +0.075)
      with care: ...
    """

    rows: tuple[Row, ...]
    changes: tuple[Change, ...]
    recommendations: tuple[Recommendation, ...]
    diagnostics: Mapping[str, TargetDiagnostics]
    propensity: PropensityReport
    rankings: tuple[Ranking, ...]
    paths: tuple[Path, ...]
    segments: tuple[Segments, ...]
    drift: Drift | None
    weights: Mapping[str, Floats]
    notes: tuple[str, ...]
    settings: Settings
    repair: Repair | None = None
    sensitivity: tuple[Robustness, ...] = ()
    scope: Scope | None = None
    training: tuple[TrainingCheck, ...] = ()

    @property
    def rewards(self) -> tuple[str, ...]:
        return self.settings.rewards

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the targets, the logging policy not among them."""
        return tuple(self.settings.targets)

    @property
    def recommended(self) -> Recommended:
        """From target to the estimate to use and why, for the first reward."""
        first, *others = self.rewards
        return Recommended((found for found in self.recommendations if found.reward == first), others)

    @property
    def ranking(self) -> Ranking:
        """Ranking by the first reward."""
        return self.rankings[0]

    def recommendation(self, target: str | None = None, reward: str | None = None) -> Recommendation:
        """The recommendation for a target and a reward, the first of each unless named.

        Returns
        -------
        Recommendation
            The estimate to use in ``row``, its difference to the logging policy in ``change``, and the
            reasons in ``why``; it prints as sentences.
        """
        wanted = (
            self.targets[0] if target is None else check.one_of(target, "target", self.targets),
            self.rewards[0] if reward is None else check.one_of(reward, "reward", self.rewards),
        )
        return next(found for found in self.recommendations if (found.target, found.reward) == wanted)

    def table(self, reward: str | None = None) -> TextTable:
        """One line per policy and estimator: value, interval, difference to the logging policy, effective
        rows, verdict.

        Returns
        -------
        TextTable
            ``print`` shows it in a terminal, a notebook as HTML.
        """
        from kwis.result.text_table import table_of

        return table_of(self, reward)

    def to_frame(self, library: str | None = None) -> Any:
        """Every estimate as a data frame: one line per policy, estimator and reward.

        Returns
        -------
        DataFrame or Table
            Of the library named, ``"pandas"``, ``"polars"`` or ``"pyarrow"``, or else of the first of these
            that is installed. Numbers are per decision, whatever ``per`` was.
        """
        from kwis.result.output import frame_of

        return frame_of(self, library)

    def summary_frame(self, library: str | None = None) -> Any:
        """A data frame with one line per target and reward: the estimate to use and what is said of it.

        Returns
        -------
        DataFrame or Table
            As from :meth:`to_frame`.
        """
        from kwis.result.output import summary_frame_of

        return summary_frame_of(self, library)

    def changes_frame(self, library: str | None = None) -> Any:
        """A data frame with one line per difference between two policies, absolute and relative.

        Returns
        -------
        DataFrame or Table
            As from :meth:`to_frame`.
        """
        from kwis.result.output import changes_frame_of

        return changes_frame_of(self, library)

    def segments_frame(self, library: str | None = None) -> Any:
        """A data frame with one line per segment, policy and reward.

        Returns
        -------
        DataFrame or Table
            As from :meth:`to_frame`.
        """
        from kwis.result.output import segments_frame_of

        return segments_frame_of(self, library)

    def to_markdown(self) -> str:
        """The answer for a pull request.

        Returns
        -------
        str
            Markdown: the recommended estimates in a table per reward, the verdicts, and the call that
            reproduces them.
        """
        from kwis.result.markdown import markdown_of

        return markdown_of(self)

    def save(self, path: str | PathLike[str]) -> Any:
        """Write everything, arrays included, to a file that :func:`kwis.load` reads.

        Returns
        -------
        Path
            The file written.
        """
        from kwis.result.keep import save

        return save(self, path)

    def plot(self, kind: str = "forest", *, target: str | None = None, reward: str | None = None) -> Any:
        """Draw a chart of the report.

        Parameters
        ----------
        kind
            ``"forest"``, ``"weights"``, ``"segments"``, ``"path"`` or ``"propensity"``.
        target, reward
            The first of each unless named.

        Returns
        -------
        Axes
            Of a new matplotlib figure, ``axes.figure.savefig(path)`` writes it; where matplotlib is missing,
            an object with the chart as ``svg``.
        """
        from kwis.report.plots import plot_of

        return plot_of(self, kind, target, reward)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Everything but the arrays with one entry per row, written to a file too if ``path`` is given.

        Returns
        -------
        str
            JSON, which :func:`kwis.diff` compares.
        """
        from kwis.result.output import json_of

        return json_of(self, path)

    def to_html(self, path: str | PathLike[str], *, segments: int = SEGMENTS_SHOWN) -> Any:
        """Write the report, one self-contained file, with the largest ``segments`` of each split.

        Returns
        -------
        Path
            The file written.
        """
        from kwis.report import write_html

        return write_html(self, path, segments=segments)

    def _repr_html_(self) -> str:
        from kwis.report.notebook import notebook_html

        return notebook_html(self)

    def __repr__(self) -> str:
        from kwis.result.presentation import shown
        from kwis.result.words import answer_in_words

        return "\n\n".join([visible(answer_in_words(self)), *map(repr, shown(self).segments)])
