"""Damaged files that fuzzing has found to reach lines of the readers that sound ones do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.read.fuzz import CORPUS, FORMATS, corpus, fuzz, lines_run, seeds
from tests.data.read.test_fuzz import read_or_refuse

FILES = corpus()


def test_the_corpus_has_files_of_every_format_and_stays_small() -> None:
    assert {path.suffix for path in FILES} == set(FORMATS)
    assert sum(path.stat().st_size for path in FILES) < 1_000_000


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_file_of_the_corpus_is_read_or_refused(suffix: str) -> None:
    for path in FILES:
        if path.suffix == suffix:
            read_or_refuse(path, **FORMATS[suffix])


def test_the_corpus_reaches_what_sound_files_do_not(tmp_path: Path) -> None:
    sound = tmp_path / "sound.csv"
    sound.write_bytes(seeds(tmp_path)[".csv"][0])
    with lines_run("/kwis/data/") as usual:
        read_or_refuse(sound, **FORMATS[".csv"])
    with lines_run("/kwis/data/") as reached:
        for path in FILES:
            if path.suffix == ".csv":
                read_or_refuse(path, **FORMATS[".csv"])
    assert len(reached - usual) > 30


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_more_damaged_files_are_read_or_refused(suffix: str, tmp_path: Path) -> None:
    files = seeds(tmp_path)[suffix] + [path.read_bytes() for path in FILES if path.suffix == suffix]
    fuzz(suffix, files, read_or_refuse, tmp_path, tries=1_500, seed=1)
    assert not list(CORPUS.glob("fault-*"))
