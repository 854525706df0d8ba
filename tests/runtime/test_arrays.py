"""Arrays in temporary files: the same numbers, nothing left behind, memory as it was without them."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import numpy as np
import pytest

import kwis
from kwis.runtime import arrays
from kwis.runtime.arrays import kept, room, stretches


@pytest.mark.parametrize("dtype", ["float64", "int64", "int8", "bool", "datetime64[us]"])
def test_an_array_outside_memory_holds_the_same(dtype):
    values = np.arange(6000).astype(dtype).reshape(2000, 3)
    found = kept(values, least=0)
    np.testing.assert_array_equal(found, values)
    assert found.dtype == values.dtype
    assert not found.flags.writeable
    assert not np.shares_memory(found, values)
    assert kept(found, least=0).base is not None
    np.testing.assert_array_equal(kept(values[::2, ::-1], least=0), values[::2, ::-1])


def test_a_small_array_stays_where_it_is_and_the_caller_may_still_write():
    values = np.arange(5.0)
    found = kept(values)
    assert np.shares_memory(found, values)
    assert not found.flags.writeable
    assert values.flags.writeable


def test_objects_stay_in_memory():
    values = np.array(["a", None], dtype=object)
    assert np.shares_memory(kept(values, least=0), values)


def test_room_can_be_filled_in_any_order_and_keeps_what_was_given_back():
    found = room((5000, 3), least=0)
    assert not found.any()
    for part in reversed(list(stretches(5000, 700))):
        found[part] = np.arange(part.start, part.stop)[:, None]
        arrays.give_back()
    np.testing.assert_array_equal(found, np.repeat(np.arange(5000.0), 3).reshape(5000, 3))


def test_files_have_no_name_and_go_with_their_arrays(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = len(arrays._waiting)
    found = [kept(np.arange(1000.0), least=0), room((1000, 2), least=0)]
    assert not list(Path(tmp_path).iterdir())
    assert len(arrays._waiting) == before + 2
    del found
    gc.collect()
    assert len(arrays._waiting) == before


def test_without_a_place_to_write_memory_has_to_do(monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", _no_space)
    values = np.arange(1000.0)
    assert np.shares_memory(kept(values, least=0), values)
    assert room((10, 2), least=0).shape == (10, 2)


def _no_space(**_):
    raise OSError(28, "No space left on device")


def test_an_evaluation_outside_memory_has_the_same_bits(monkeypatch):
    log = kwis.sample_log(600, rng=3)
    inside = kwis.evaluate(log.read(reward="click"), "p_new")
    for function in (kept, room):
        monkeypatch.setattr(function, "__defaults__", (0,))
    outside = kwis.evaluate(kwis.sample_log(600, rng=3).read(reward="click"), "p_new")
    assert outside.to_json() == inside.to_json()


@pytest.mark.parametrize("least", [0, arrays.LARGE])
def test_a_column_written_in_pieces_is_whole_in_the_end(monkeypatch, least):
    monkeypatch.setattr(arrays, "LARGE", least)
    values = np.random.default_rng(0).normal(size=1_000)
    pieces = arrays.Pieces(1_000, large=True)
    for start in (500, 0, 250, 750):
        pieces.put(slice(start, start + 250), values[start : start + 250])
    found = pieces.whole()
    np.testing.assert_array_equal(found, values)
    assert not found.flags.writeable
    like = arrays.Pieces.like(found)
    like.put(slice(0, 1_000), values)
    np.testing.assert_array_equal(like.whole(), values)
