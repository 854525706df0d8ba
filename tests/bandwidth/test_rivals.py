"""Descents that lag behind a better end point are given up, and only those."""

import numpy as np
import pytest

import kwis
from kwis.bandwidth import search as searches
from kwis.bandwidth.scale import default_starts
from kwis.bandwidth.search import Route, Search, descend_from
from kwis.bandwidth.select import Problem
from kwis.bandwidth.standardised import Standardised


def problem(n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    context = rng.standard_normal((n, d))
    weight = np.exp(np.sin(2 * context[:, 0]) + 0.4 * rng.standard_normal(n))
    found = Problem.of(context, (), 4, kwis.RBF, None, 0)
    return found, Search(found.plan(), Standardised.of(weight, found.folds).weight), weight


def test_a_descent_is_hopeless_only_if_it_is_slow_for_what_is_left():
    falling, crawling = list(np.linspace(2.0, 1.0, 60)), list(np.linspace(1.01, 1.0, 60))
    assert not searches._hopeless(falling, 0.5)
    assert searches._hopeless(crawling, 0.5)
    assert not searches._hopeless(crawling[:30], 0.5)  # it has hardly begun
    assert not searches._hopeless(crawling, 1.1)  # it leads
    assert not searches._hopeless(crawling, np.inf)


@pytest.mark.parametrize("inverse", [True, False])
def test_without_a_rival_in_reach_a_descent_ends_where_it_always_did(inverse):
    found, search, _ = problem()
    scales = found._scales(True)
    start, route = default_starts(scales)[1], Route(scales, inverse, 600)
    alone = descend_from(search, start, search.plan.finish, route)
    beside = descend_from(search, start, search.plan.finish, route, rival=2.0)
    np.testing.assert_array_equal(alone, beside)


def test_a_descent_beside_an_unreachable_rival_stops_early_at_its_best_point(monkeypatch):
    found, search, _ = problem()
    scales, scores = found._scales(True), []
    search.callback = lambda progress: scores.append(progress.score)
    monkeypatch.setattr(searches, "_UNTRIED", 12)
    end = descend_from(
        search, default_starts(scales)[0], search.plan.finish, Route(scales, False, 600), rival=1e-9
    )
    assert 12 < len(scores) < 200
    search.callback = None
    assert search.score(end, search.plan.finish).value == min(scores)


@pytest.mark.parametrize("seed", range(3))
def test_the_selection_is_no_worse_than_the_best_of_the_papers_starts(seed):
    found, _, weight = problem(seed=seed)
    context = np.random.default_rng(seed).standard_normal((200, 4))
    ours = kwis.select_bandwidth(context, weight, folds=found.folds.labels, per_feature=True)
    starts = np.outer(np.geomspace(0.1, 10, 5), np.ones(4))
    papers = kwis.select_bandwidth(context, weight, folds=found.folds.labels, per_feature=True, starts=starts)
    assert ours.score <= papers.score * (1 + 1e-4)
