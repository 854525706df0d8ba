"""What estimators say of themselves, and what they are unless told otherwise."""

from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.estimators import traits
from kwis.estimators.difference import difference_of
from kwis.estimators.registry import by_name, further_by_name, name_of_alias

NEIGHBOURS, ALL = traits.NEIGHBOURS, traits.ALL_ROWS
KERNEL, NORMALISED_KERNEL = kwis.KernelWIS(1.0), kwis.KernelWIS(1.0, normalised=True)
CLIPPED, NORMALISED_CLIPPED = kwis.ShrunkenIS("clipping"), kwis.ShrunkenIS("clipping", normalised=True)
FLAGS = {  # normalised, mostly within the rewards, mean of terms, needs predictions, shrinks
    kwis.VIS(): (False, False, True, False, False, None),
    kwis.TruncatedVIS(): (False, False, False, False, False, None),
    kwis.WIS(): (True, False, False, False, False, ALL),
    kwis.StateWIS(): (False, False, False, False, False, None),
    kwis.StateWIS(normalised=True): (True, False, False, False, False, None),
    KERNEL: (False, False, False, False, False, None),
    NORMALISED_KERNEL: (True, False, False, False, False, NEIGHBOURS),
    kwis.EmpiricalLikelihood(): (True, False, False, False, False, ALL),
    kwis.ControlVariate(): (False, True, False, False, False, None),
    CLIPPED: (False, False, False, False, True, None),
    NORMALISED_CLIPPED: (True, False, False, False, True, None),
    kwis.LogSumExp(): (False, False, False, False, True, None),
    kwis.Quantile(): (True, False, False, False, False, ALL),
    kwis.TailMean(): (False, False, False, False, False, ALL),
    kwis.DirectMethod(): (False, False, False, True, False, None),
    kwis.DoublyRobust(): (False, True, False, True, False, None),
    kwis.DoublyRobust(NORMALISED_KERNEL): (False, True, False, True, False, NEIGHBOURS),
    kwis.DoublyRobust(CLIPPED): (False, True, False, True, True, None),
}


@pytest.mark.parametrize("estimator", FLAGS, ids=lambda one: one.name)
def test_what_an_estimator_says_of_itself(estimator):
    questions = (
        traits.normalised,
        traits.mostly_within_rewards,
        traits.mean_of_terms,
        traits.needs_predictions,
        traits.shrinks,
        traits.normalised_over,
    )
    assert tuple(question(estimator) for question in questions) == FLAGS[estimator]


def test_what_is_assumed_of_an_estimator_that_says_nothing():
    class Silent:
        name = "silent"

    flags = ("normalised", "mostly_within_rewards", "mean_of_terms", "needs_predictions", "shrinks")
    assert [getattr(traits, flag)(Silent()) for flag in flags] == [False] * 5
    assert traits.settings(Silent()) == {}
    assert traits.settings(kwis.TruncatedVIS(3.0)) == {"cap": 3.0}
    assert traits.settings(kwis.TruncatedVIS) == {}  # a class is no estimator
    assert traits.weighting(kwis.WIS()) == kwis.WIS()
    assert traits.sentence(Silent()) == ""


def test_what_each_bias_is_measured_against():
    robust = kwis.DoublyRobust
    assert traits.bias_reference(KERNEL) is None
    assert traits.bias_reference(NORMALISED_KERNEL) == kwis.WIS()
    assert traits.bias_reference(CLIPPED) == traits.bias_reference(kwis.LogSumExp()) == kwis.VIS()
    assert traits.bias_reference(NORMALISED_CLIPPED) == kwis.WIS()
    assert traits.bias_reference(robust(NORMALISED_KERNEL)) == robust(kwis.WIS())
    assert traits.bias_reference(robust(KERNEL)) is None


def test_names_say_form_and_rule():
    assert " ".join(by_name()) == (
        "vis truncated-vis wis state-wis normalised-state-wis kernel-wis normalised-kernel-wis "
        "direct-method doubly-robust doubly-robust-wis doubly-robust-normalised-kernel-wis"
    )
    names = {
        "normalised-switch": kwis.ShrunkenIS("switch", normalised=True),
        "switch-mse": kwis.ShrunkenIS("switch", "mse"),
        "log-sum-exponential": kwis.LogSumExp("slope"),
        "log-sum-exponential-mse": kwis.LogSumExp("mse"),
        "doubly-robust-normalised-clipping-mse": kwis.DoublyRobust(
            kwis.ShrunkenIS("clipping", "mse", normalised=True)
        ),
    }
    further = further_by_name()
    assert {name: further[name] for name in names} == names
    assert kwis.TailMean(0.9).name == "wis-cvar-0.9"
    assert kwis.TailMean(0.1, upper=False).name == "wis-lower-cvar-0.1"


def test_names_of_the_field_stand_for_one_estimator_each():
    assert name_of_alias() == {
        "ips": "vis",
        "ipw": "vis",
        "snips": "wis",
        "snipw": "wis",
        "dm": "direct-method",
        "dr": "doubly-robust",
        "sndr": "doubly-robust-wis",
        "el": "empirical-likelihood",
        "regression": "control-variate",
        "lse": "log-sum-exponential",
        "switch-dr": "doubly-robust-switch",
        "dros": "doubly-robust-shrinkage",
        "ix-dr": "doubly-robust-implicit-exploration",
    }


def test_estimators_are_what_they_are_unless_told_otherwise():
    assert kwis.KernelWIS() == kwis.KernelWIS("cv", per_feature=False, normalised=False, rng=0, folds=5)
    assert kwis.ShrunkenIS("switch") == kwis.ShrunkenIS("switch", "slope", normalised=False)
    assert kwis.StateWIS() == kwis.StateWIS(normalised=False)
    assert kwis.TailMean() == kwis.TailMean(0.95, upper=True)
    assert kwis.EmpiricalLikelihood() == kwis.EmpiricalLikelihood((0.0, np.inf))
    assert [by_name(*seed)["kernel-wis"].rng for seed in ((), (7,))] == [0, 7]


def test_exact_is_set_where_an_estimator_leaves_it_open():
    assert traits.with_exact(kwis.KernelWIS(1.0), True) == kwis.KernelWIS(1.0, exact=True)
    assert traits.with_exact(kwis.KernelWIS(1.0, exact=False), True) == kwis.KernelWIS(1.0, exact=False)
    assert traits.with_exact(kwis.DoublyRobust(KERNEL), False).weighting.exact is False
    assert traits.with_exact(kwis.WIS(), True) == kwis.WIS()


def test_neighbours_are_drawn_with_the_seed_and_with_0_where_there_is_only_a_generator():
    assert kwis.KernelWIS(rng=np.int64(4)).seed == 4
    assert kwis.KernelWIS(rng=np.random.default_rng(4)).seed == 0


def made(**fields):
    return kwis.Estimate(**{"name": "own", "value": 1.0, "n": 3, "effective_n": 2.0, **fields})


def test_a_difference_has_influence_and_leverage_where_both_sides_have_them():
    moves, shares = np.array([1.0, -1.0, 0.0]), np.array([0.2, 0.3, 0.5])
    first = made(value=3.0, influence=2 * moves, leverage=shares, effective_n=5.0)
    second = made(influence=moves, leverage=shares[::-1])
    apart = difference_of(first, second, "apart")
    assert (apart.name, apart.value, apart.n, apart.effective_n) == ("apart", 2.0, 3, 2.0)
    assert apart.influence.tolist() == moves.tolist()
    assert apart.leverage.tolist() == [0.5, 0.3, 0.5]  # the larger of the two
    for bare in (made(influence=moves), made(leverage=shares)):
        for pair in ((first, bare), (bare, first)):
            apart = difference_of(*pair, "apart")
            assert (apart.influence is None) == (bare.influence is None)
            assert (apart.leverage is None) == (bare.leverage is None)


def test_sentences_tell_forms_apart():
    assert kwis.DoublyRobust().sentence.startswith("predicted rewards, corrected by")
    assert kwis.DoublyRobust(kwis.WIS()).sentence == "doubly robust, its errors weighted as in wis"
    for estimator in (kwis.KernelWIS(1.0, normalised=True), kwis.StateWIS(normalised=True)):
        assert "divided by the mean of its weights" in estimator.sentence
        assert "divided by their mean over" in replace(estimator, normalised=False).sentence
    assert CLIPPED.sentence == (
        "vis with shrunken weights: weights above the parameter are cut to it, chosen by SLOPE"
    )
    assert NORMALISED_CLIPPED.sentence.startswith("wis with shrunken weights")
    assert kwis.ShrunkenIS("clipping", 2.0).sentence.endswith("cut to it")
