"""Every estimator of the package beside its slow twin, and samples to try them on."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import kwis
from tests.reference import estimators as twin


@dataclass(frozen=True)
class Case:
    """An estimator, its twin as a function of the masses, and what of it holds."""

    estimator: Any
    similarity: Any = None  # of the local forms
    cap: Any = None
    self_normalised: bool = False
    weights: Any = None  # of forms that weigh all rows together: from weights and masses to weights
    values: Any = None  # of forms that are no weighted mean of the rewards
    half_normalised: bool = False  # divided by the weights before and after shrinkage

    @property
    def linear(self):
        """Whether it is a weighted sum of the rewards."""
        return self.values is None or self.self_normalised

    def applied(self, sample, mass):
        if self.weights is not None:
            return self.weights(sample.weight.tolist(), mass)
        if self.similarity is not None:
            return twin.local_ratios(sample.context.tolist(), sample.weight.tolist(), mass, self.similarity)
        return [min(w, self._cap(sample)) for w in sample.weight.tolist()]

    def value(self, sample, mass):
        weight, reward = sample.weight.tolist(), sample.reward.tolist()
        if self.values is not None:
            return self.values(weight, reward, mass)
        if self.weights is not None:
            weight = self.applied(sample, mass)
            return twin.wis(weight, reward, mass) if self.self_normalised else twin.vis(weight, reward, mass)
        if self.similarity is not None:
            return twin.local_wis(
                sample.context.tolist(), weight, reward, mass, self.similarity, self.self_normalised
            )
        return (
            twin.wis(weight, reward, mass)
            if self.self_normalised
            else twin.truncated_vis(weight, reward, mass, self._cap(sample))
        )

    def _cap(self, sample):
        if self.cap == "ionides":
            return math.sqrt(sample.n if sample.mass is None else float(sample.mass.sum()))
        return math.inf if self.cap is None else self.cap


def kernel_similarity(bandwidth, kernel="rbf", categorical=()):
    return lambda x, y: twin.kernel_between(x, y, bandwidth, kernel, categorical)


def shrunken_case(rule, parameter, normalised):
    return Case(
        kwis.ShrunkenIS(rule, parameter, normalised=normalised),
        self_normalised=normalised,
        weights=lambda weight, mass: [twin.shrunken(rule, w, parameter) for w in weight],
    )


def half_normalised_case(rule, parameter):
    forms = [shrunken_case(rule, parameter, normalised=normalised) for normalised in (False, True)]

    def mean(weight, reward, mass):
        shrunken = forms[0].weights(weight, mass)
        before = sum(c * w for w, c in zip(weight, mass, strict=True)) / sum(mass)
        return (twin.vis(shrunken, reward, mass) / before + twin.wis(shrunken, reward, mass)) / 2

    return Case(
        kwis.HalfNormalised(rule, parameter), weights=forms[0].weights, values=mean, half_normalised=True
    )


PARAMETERS = {
    "clipping": 1.2,
    "switch": 1.5,
    "shrinkage": 2.0,
    "sub-gaussian": 0.3,
    "power-mean": 0.4,
    "implicit-exploration": 0.5,
    "logarithmic-smoothing": 0.8,
}
CASES = [
    Case(kwis.VIS()),
    Case(kwis.TruncatedVIS(), cap="ionides"),
    Case(kwis.TruncatedVIS(cap=1.2), cap=1.2),
    Case(kwis.WIS(), self_normalised=True),
    Case(kwis.StateWIS(), twin.same_state),
    Case(kwis.StateWIS(normalised=True), twin.same_state, self_normalised=True),
    Case(kwis.KernelWIS(0.8), kernel_similarity(0.8)),
    Case(kwis.KernelWIS(0.8, normalised=True), kernel_similarity(0.8), self_normalised=True),
    Case(kwis.KernelWIS(math.inf), kernel_similarity(math.inf)),
    Case(kwis.KernelWIS([0.5, math.inf], kernel=kwis.Laplace), kernel_similarity([0.5, math.inf], "laplace")),
    Case(
        kwis.KernelWIS(2.0, kernel="epanechnikov", normalised=True),
        kernel_similarity(2.0, "epanechnikov"),
        self_normalised=True,
    ),
    Case(kwis.EmpiricalLikelihood(), self_normalised=True, weights=twin.empirical_likelihood_weights),
    Case(
        kwis.EmpiricalLikelihood((0.0, 1e301)),
        self_normalised=True,
        weights=lambda w, mass: twin.empirical_likelihood_weights(w, mass, high=1e301),
    ),
    Case(
        kwis.ControlVariate(),
        self_normalised=True,
        weights=twin.control_variate_weights,
        values=twin.control_variate,
    ),
    *(shrunken_case(rule, p, normalised=False) for rule, p in PARAMETERS.items()),
    *(shrunken_case(rule, p, normalised=True) for rule, p in PARAMETERS.items() if rule != "switch"),
    half_normalised_case("clipping", 1.2),
    Case(
        kwis.LogSumExp(0.7),
        weights=lambda w, mass: w,
        values=lambda w, r, mass: twin.log_sum_exp(w, r, mass, 0.7),
    ),
]
ESTIMATORS = [case.estimator for case in CASES]
WITHOUT_DIVISION = [  # plain forms, which are 0 where no row has a weight
    case.estimator
    for case in CASES
    if case.similarity is None and not (case.self_normalised or case.half_normalised)
]
SCALE_FREE = [e for e in ESTIMATORS if e.name == "wis" or e.name.endswith(("state-wis", "kernel-wis"))]
NORMALISED = [case.estimator for case in CASES if case.self_normalised and case.estimator.normalised]


def label(case):
    estimator = getattr(case, "estimator", case)
    detail = getattr(estimator, "bandwidth", getattr(estimator, "cap", getattr(estimator, "support", "")))
    return f"{estimator.name} {detail}".strip()


def some_sample(n=12, seed=0, *, mass=False, groups=0, zeros=True, repeats=True, heavy=0.6):
    """A small sample with repeated contexts and weights of 0."""
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(n, 2))
    if repeats:
        context[n // 2 :] = context[: n - n // 2]
    weight = rng.lognormal(0, heavy, n)
    if zeros:
        weight[1] = 0.0
    return kwis.WeightedSample(
        context=context,
        weight=weight,
        reward=rng.normal(0.5, 1.0, n),
        group=rng.permutation(np.arange(n) % groups) if groups else None,
        mass=rng.uniform(0.5, 3.0, n) if mass else None,
    )


@st.composite
def weighted_samples(draw, least=2, most=12, rewards=None, least_weight=0.0):
    """Samples with a few columns, contexts on a coarse grid (so some repeat), weights from 0 to 50."""
    n, d = draw(st.integers(least, most)), draw(st.integers(1, 3))
    cells = st.integers(-4, 4).map(lambda k: k / 2)
    context = draw(st.lists(st.lists(cells, min_size=d, max_size=d), min_size=n, max_size=n))
    positive = st.floats(max(least_weight, 1e-3), 50.0)
    some = positive if least_weight > 0 else st.one_of(positive, st.just(0.0))
    weight = [draw(positive), *draw(st.lists(some, min_size=n - 1, max_size=n - 1))]
    reward = draw(st.lists(rewards if rewards is not None else st.floats(-10, 10), min_size=n, max_size=n))
    return kwis.WeightedSample(context=context, weight=weight, reward=reward)


BANDWIDTHS = st.floats(0.05, 20.0)
