"""What a watch has counted, kept in one small file that is replaced in one step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kwis.data.read.arrivals import Arrived, digest
from kwis.errors import InputError
from kwis.evaluation.tally import Tally
from kwis.intervals.sequence import BettingSequence
from kwis.runtime.writing import write_whole

SCHEMA = "kwis-watch/2"
"""Name and version of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What was counted: settings, from each file to its size, time and digest, and the sums."""

    settings: Mapping[str, str]
    files: Mapping[str, tuple[int, int, str]]
    tally: Tally | None

    @classmethod
    def read(cls, path: Path, how: BettingSequence, settings: Mapping[str, str]) -> Counted:
        if not path.exists() or path.stat().st_size == 0:
            return cls(settings=settings, files={}, tally=None)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            before = dict(found["settings"])
            if found["schema"] != SCHEMA:
                raise InputError(
                    f"`state` must be {SCHEMA!r}, as other versions placed other bets, got "
                    f"{found['schema']!r} in {str(path)!r}; another `state` starts anew"
                )
            files = {
                str(name): (int(size), int(changed), str(mark))
                for name, (size, changed, mark) in found["files"].items()
            }
            for name in {**before, **settings}:
                if before.get(name) != settings.get(name):
                    raise InputError(
                        f"`{name}` must be {before.get(name, 'left out')} as in {str(path)!r}, got "
                        f"{settings.get(name, 'none')}; another `state` starts anew"
                    )
            tally = None if found["tally"] is None else Tally.of_plain(how, found["tally"])
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            if isinstance(problem, InputError):
                raise
            raise InputError(f"`state` must be a file that a watch wrote, got {str(path)!r}") from None
        return cls(settings=settings, files=files, tally=tally)

    def new(self, files: list[Arrived]) -> list[Arrived]:
        """Files not counted yet; one that was counted and is another now is refused."""
        fresh = []
        for file in files:
            before = self.files.get(file.name)
            if before is None:
                fresh.append(file)
            elif before[:2] != (file.size, file.changed) and digest(file.path) != before[2]:
                raise InputError(
                    f"{file.name!r} must not change after it was counted, and had {before[0]:,} bytes then, "
                    f"{file.size:,} now; another `state` starts anew"
                )
        return fresh

    def holding(self, mark: str) -> str | None:
        """A counted file with these bytes."""
        return next((name for name, (_, _, other) in self.files.items() if other == mark), None)

    def after(self, file: Arrived, mark: str, tally: Tally | None) -> Counted:
        return replace(self, files={**self.files, file.name: (file.size, file.changed, mark)}, tally=tally)

    def write(self, path: Path) -> None:
        content = {
            "schema": SCHEMA,
            "settings": self.settings,
            "files": self.files,
            "tally": None if self.tally is None else self.tally.plain(),
        }
        write_whole(path, f"{json.dumps(content, allow_nan=False)}\n".encode(), "state")
