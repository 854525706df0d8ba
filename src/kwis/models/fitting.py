"""Fitting models that users hand in: row weights passed as the model takes them, failures in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from kwis.errors import InputError
from kwis.runtime.process import one_at_a_time
from kwis.runtime.threads import one_blas_thread
from kwis.typing import Floats

ROWS_FOR_TREES = 500
"""Boosted trees learn little from fewer rows that a smooth model does not, and memorise more."""
TREES: dict[str, Any] = {
    "max_iter": 60,
    "learning_rate": 0.1,
    "max_leaf_nodes": 12,
    "min_samples_leaf": 30,
    "l2_regularization": 1.0,
}
"""Boosted trees of a few hundred to many thousand rows: shallow, and few enough to be quick."""
_ROWS_FOR_THREADS = (
    200_000  # below, boosted trees on a busy machine spend ten times longer waiting for each other
)


def weight_argument(model: Any, weight: Floats | None) -> dict[str, Floats]:
    """How to pass row weights to this model, if it takes them; what is learnt from a thinned log is wrong
    without them.
    """
    if weight is None:
        return {}
    from sklearn.utils.validation import has_fit_parameter

    steps = getattr(model, "steps", None)
    inner, prefix = (steps[-1][1], f"{steps[-1][0]}__") if steps else (model, "")
    if not has_fit_parameter(inner, "sample_weight"):
        raise InputError(
            f"`model` must take `sample_weight` for a log with row weights, and {type(inner).__name__} does "
            f"not"
        )
    return {f"{prefix}sample_weight": weight}


@cache
def _openmp() -> Any:
    """The OpenMP libraries that models use; looking for them reads the process's map of memory, so it is done
    once.
    """
    import sklearn.ensemble  # noqa: F401 - loads the libraries that are looked for
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold what is called here to one thread; OpenMP counts for each calling thread, BLAS for the process."""
    with one_blas_thread, _openmp().limit(limits=1):
        yield


@contextmanager
def fitting(model: Any, rows: int) -> Iterator[None]:
    """Circumstances in which to fit and predict: errors as ours, and no more threads than the work is worth.

    Warnings of a model reach whoever chose it; those kwis chooses have none.
    """
    with one_at_a_time, one_thread() if rows < _ROWS_FOR_THREADS else nullcontext(), _own_errors(model):
        yield


@contextmanager
def fitting_ours(model: Any) -> Iterator[None]:
    """The same for a model of our own, which others may be fitted beside."""
    with one_blas_thread, _own_errors(model):
        yield


@contextmanager
def _own_errors(model: Any) -> Iterator[None]:
    with np.errstate(all="ignore"):
        try:
            yield
        except InputError:
            raise
        except Exception as failure:  # the model's own business, reported as ours
            reason = (str(failure).strip().splitlines() or [repr(failure)])[0]
            raise InputError(
                f"`model` must be able to learn the log, and {type(model).__name__} failed: {reason}"
            ) from failure
