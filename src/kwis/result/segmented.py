"""Estimates by segment: the records of :mod:`kwis.result.records` for the rows with one value of a column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kwis.result.records import Change, Row

if TYPE_CHECKING:
    from kwis.result.text_table import TextTable

SEGMENTS_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segment:
    """The rows with one value of a column: recommended estimates there, and their differences to the logging
    policy.
    """

    columns: tuple[str, ...]
    values: tuple[str, ...]
    n: int
    rows: tuple[Row, ...]
    changes: tuple[Change, ...]

    @property
    def label(self) -> str:
        return ", ".join(
            f"{column} = {value}" for column, value in zip(self.columns, self.values, strict=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Segments:
    """All segments by the same columns; the simultaneous intervals of their changes hold together. It prints
    as a table.
    """

    columns: tuple[str, ...]
    segments: tuple[Segment, ...]
    notes: tuple[str, ...] = ()

    def largest(self, most: int = SEGMENTS_SHOWN) -> Segments:
        """The largest segments, in their order; the intervals of their changes still hold for all."""
        if len(self.segments) <= most:
            return self
        chosen = set(sorted(range(len(self.segments)), key=lambda place: -self.segments[place].n)[:most])
        kept = tuple(segment for place, segment in enumerate(self.segments) if place in chosen)
        rows = sum(segment.n for segment in self.segments) - sum(segment.n for segment in kept)
        note = (
            f"the {most:,} largest of {len(self.segments):,} segments are shown; the others have {rows:,} "
            f"rows"
        )
        return replace(self, segments=kept, notes=(note, *self.notes))

    def table(self, most: int = SEGMENTS_SHOWN) -> TextTable:
        """One line per segment, policy and reward, for the largest segments."""
        from kwis.result.text_table import segment_table

        return segment_table(self.largest(most))

    def to_frame(self, library: str | None = None) -> Any:
        """All segments as a data frame of pandas, polars or pyarrow, one line per segment, policy
        and reward.
        """
        from kwis.result.output import frame_of_segments

        return frame_of_segments(self, library)

    def __repr__(self) -> str:
        return str(self.table())
