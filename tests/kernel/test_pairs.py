"""Every pair of rows computed once, for both: the same numbers as row by row, wherever rows stand and however
few of them are near.
"""

import numpy as np
import pytest

from kwis.kernel import pairs, tiles
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds
from kwis.kernel.tiling import Layout
from kwis.runtime.threads import engine
from tests.kernel.samples import gradient_error, plan_of, sample
from tests.reference import kernel_regression as twin

FOLD_SIZES = [(1, 1), (257, 1), (300, 513, 2), (40,) * 30, (2000, 1800, 2100)]


@pytest.mark.parametrize("sizes", FOLD_SIZES, ids=str)
def test_strips_hold_every_pair_of_tiles_of_different_folds_once(sizes):
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    layout = Layout.of(labels.size, Folds.of(labels))
    cut = layout.strips
    assert [strip.bounds[0] for strip in cut] == [0, *(strip.bounds[1] for strip in cut[:-1])]
    assert cut[-1].bounds[1] == layout.tile_count
    assert [strip.pairs.start for strip in cut] == [0, *(strip.pairs.stop for strip in cut[:-1])]
    fold_of_tile = labels[layout.order][layout.starts[:-1]]
    different = sum(a != b for place, a in enumerate(fold_of_tile) for b in fold_of_tile[:place])
    assert cut[-1].pairs.stop == layout.pair_count == different
    largest = max(strip.pairs.stop - strip.pairs.start for strip in cut)
    assert largest <= different / 24 + layout.tile_count


@pytest.mark.parametrize("sizes", FOLD_SIZES[:4], ids=str)
def test_every_row_knows_its_tile_and_every_tile_its_rows(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    layout = Layout.of(labels.size, Folds.of(labels))
    tile = layout.slot // 256
    for number in range(layout.tile_count):
        assert np.flatnonzero(tile == number).tolist() == list(
            range(layout.starts[number], layout.starts[number + 1])
        )
        assert len(set(labels[layout.order][tile == number])) == 1
    np.testing.assert_array_equal(layout.skips[:, 1], layout.later[tile])
    folds = labels[layout.order]
    np.testing.assert_array_equal(layout.skips[:, 0], [tile[folds == fold].min() for fold in folds])


def test_sums_of_both_sides_are_those_over_the_other_folds():
    context, weight, labels = sample((300, 257, 80), 4, (2,))
    folds = Folds.of(labels, np.random.default_rng(1).uniform(0.5, 2, weight.size))
    cv = tiles.FusedCV.of(Geometry.of(context, (2,)), folds)
    layout, arrays = cv.tiles.layout, cv.tiles.scaled(0.9)
    own = np.stack([folds.mass, folds.mass * weight], axis=1)
    got = pairs.shared_sums(layout, arrays, cv._vectors(weight), own[layout.order])
    numeric = [0, 1, 3]
    q = ((context[:, None, numeric] - context[None, :, numeric]) ** 2).sum(axis=2) / 2 + (
        context[:, None, 2] != context[None, :, 2]
    )
    q *= np.log2(np.e) / 0.9**2
    k = np.where(labels[:, None] == labels, 0.0, 2.0**-q)
    np.testing.assert_allclose(
        got, np.concatenate([k @ own, (k * q) @ own], axis=1)[layout.order], rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [0.02, 0.3, 2.0], ids=["all remote", "some remote", "none remote"])
def test_kernels_kept_or_computed_again_or_row_by_row_give_the_same_score(monkeypatch, dtype, scale):
    context, weight, labels = sample((270, 300, 61), 5, (1,))
    context = context.copy()
    context[::50, 0] *= 40
    bandwidth = scale * np.linspace(0.7, 1.6, 5)

    def score():
        return tiles.FusedCV.of(Geometry.of(context, (1,)), Folds.of(labels), dtype).score(weight, bandwidth)

    kept = score()
    monkeypatch.setattr(pairs, "KEPT_CELLS", 0)
    again = score()
    assert again.value == kept.value
    assert gradient_error(again.gradient, kept.gradient, kept.value) < (
        1e-14 if dtype is np.float64 else 1e-6
    )
    monkeypatch.setattr(tiles, "_remote", lambda arrays: np.ones(weight.size, dtype=bool))
    alone = score()
    exact = dtype is np.float64
    assert kept.value == pytest.approx(alone.value, rel=1e-13 if exact else 1e-5)
    assert gradient_error(kept.gradient, alone.gradient, alone.value) < (1e-11 if exact else 3e-3)


@pytest.mark.parametrize("per_feature", [False, True], ids=["shared", "per feature"])
def test_lonely_rows_beside_a_crowd_are_predicted_by_their_nearest_to_full_precision(per_feature):
    """Kernels to the lonely rows underflow or nearly so, at every distance: each is counted from its own
    nearest neighbour.
    """
    rng = np.random.default_rng(3)
    lonely = 10.0 ** np.linspace(0.5, 3, 30)
    context = np.concatenate(
        [rng.standard_normal((90, 2)), np.stack([lonely, rng.standard_normal(30)], axis=1)]
    )
    weight = np.exp(np.sin(context[:, 0]) + 0.3 * rng.standard_normal(120))
    labels = rng.permutation(np.arange(120) % 3)
    bandwidth = np.array([0.6, 0.8]) if per_feature else 0.7
    value, gradient, _ = twin.cv_score(context, weight, bandwidth, labels)
    got = plan_of("fused", context, labels).score(weight, bandwidth)
    assert got.value == pytest.approx(value, rel=1e-12)
    assert (
        gradient_error(got.gradient, gradient if per_feature else gradient.sum(keepdims=True), value) < 1e-10
    )


def test_every_evaluation_reuses_the_memory_of_the_last_and_none_of_its_numbers():
    context, weight, labels = sample((270, 300, 61), 5)
    used = tiles.FusedCV.of(Geometry.of(context, ()), Folds.of(labels))
    wide, narrow = np.full(5, 2.0), np.full(5, 0.4)
    first = used.score(weight, wide)
    used.score(weight**2, narrow)
    again, fresh = (
        used.score(weight, wide),
        tiles.FusedCV.of(Geometry.of(context, ()), Folds.of(labels)).score(weight, wide),
    )
    assert len(used._spare) == 1
    for other in (again, fresh):
        assert other.value == first.value
        np.testing.assert_array_equal(other.gradient, first.gradient)


def test_strips_are_the_same_for_any_number_of_threads():
    context, weight, labels = sample((2000, 1900, 1850), 2)
    found = []
    for count in (1, 2, 5):
        with engine(threads=count):
            found.append(plan_of("fused", context, labels).score(weight, 0.5))
    assert len({score.value for score in found}) == 1
    assert len({score.gradient.tobytes() for score in found}) == 1
