"""Caveats begin beyond their thresholds, and not before."""

import pytest

import kwis
from kwis.estimators.traits import Circumstances


def caveats(estimator, *, applied=1.0, p_value=1.0, lone=0.0, effective=10.0):
    estimate = kwis.Estimate(name=estimator.name, value=0.5, n=10, mean_weight=applied, effective_n=effective)
    found = Circumstances(estimate=estimate, mean_weight=1.3, mean_p_value=p_value, lone=lone)
    return [(verdict.level, *verdict.reasons) for verdict in estimator.caveats(found)]


@pytest.mark.parametrize("normalised", [False, True])
def test_state_wis_says_little_where_most_contexts_occur_once(normalised):
    estimator = kwis.StateWIS(normalised=normalised)
    assert caveats(estimator, lone=0.5) == []
    ((level, reason),) = caveats(estimator, lone=0.51)
    assert level == "do not trust"
    assert "51% of the rows have a context of their own" in reason


def test_plain_kernel_wis_tells_how_far_its_weights_are_from_1():
    estimator = kwis.KernelWIS(1.0)
    for applied in (0.981, 1.019):
        assert caveats(estimator, applied=applied) == []
    for applied in (0.979, 1.021):
        assert [level for level, _ in caveats(estimator, applied=applied)] == ["with care"]
        assert caveats(kwis.KernelWIS(1.0, normalised=True), applied=applied) == []


def test_vis_does_not_divide_by_a_mean_weight_that_is_not_1():
    assert caveats(kwis.VIS(), p_value=0.01) == []
    ((level, reason),) = caveats(kwis.VIS(), p_value=0.0099)
    assert level == "with care"
    assert reason == "vis does not divide by the mean weight, which is 1.3 instead of 1"


@pytest.mark.parametrize(
    ("estimator", "care", "trust"),
    [
        (kwis.Quantile(0.9), 100, 50),
        (kwis.Quantile(0.1), 100, 50),
        (kwis.Quantile(0.5), 20, 10),
        (kwis.TailMean(0.9), 30, 5),
        (kwis.TailMean(0.2, upper=False), 30, 5),
    ],
)
def test_a_quantile_and_a_tail_need_rows_beyond_them(estimator, care, trust):
    assert caveats(estimator, effective=care + 0.1) == []
    ((level, reason),) = caveats(estimator, effective=care - 0.1)
    assert (level, "effective rows beyond the quantile, fewer than" in reason) == ("with care", True)
    assert caveats(estimator, effective=trust + 0.1)[0][0] == "with care"
    assert caveats(estimator, effective=trust - 0.1)[0][0] == "do not trust"
