"""Classifiers as policies: any fitted scikit-learn classifier with ``predict_proba``.

It has to be trained on other rows than those that evaluate it (:func:`kwis.cross_fit` sees to that), with the
same columns. It is given: those of its ``feature_names_in_`` as a data frame (pandas, or polars where there
is no pandas), or, for one trained on plain arrays, the context columns of the log in their order, as numbers.
Text comes as strings, missing numbers as NaN. A classifier that needs something else goes into a function:
``lambda log: model.predict_proba(prepare(log["age"], log["country"]))``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from kwis.data.candidates import among
from kwis.data.columns import Label
from kwis.data.distributions import unknown_action
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.runtime.process import one_at_a_time
from kwis.typing import Classifier, Floats


def predicted(model: Classifier, log: LoggedBandit) -> Floats:
    """``(n, K)`` probabilities in the order of ``log.action_names``."""
    kind = type(model).__name__
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise InputError(f"`target` must be a fitted classifier with `classes_`, got a {kind} without")
    places = _places(np.asarray(classes).tolist(), log)
    inputs = _inputs(model, log)
    try:
        with one_at_a_time:
            probabilities = np.asarray(model.predict_proba(inputs), dtype=np.float64)
    except Exception as failure:  # the classifier's own business, reported as ours
        reason = (str(failure).strip().splitlines() or [repr(failure)])[0]
        raise InputError(
            f"`target` must be able to predict on the log, and {kind} failed: {reason}"
        ) from failure
    if probabilities.shape != (len(log), len(places)):
        raise InputError(
            f"`target` must predict one probability per row and class, got shape {probabilities.shape} from "
            f"{kind}"
        )
    whole = np.zeros((len(log), log.n_actions))
    whole[:, places] = probabilities
    return among(whole, log.available)


def _places(classes: list[Label], log: LoggedBandit) -> list[int]:
    index = {action: code for code, action in enumerate(log.action_names)}
    spelled = {str(action): code for action, code in index.items()}
    places = []
    for label in classes:
        code = index.get(label, spelled.get(str(label)))
        if code is None:
            raise InputError(unknown_action("target", label, log.action_names))
        places.append(code)
    for code in np.unique(log.action):
        if code not in places:
            row = int(np.argmax(log.action == code))
            action = log.action_names[code]
            raise InputError(
                f"`target` must know every logged action, got a classifier that does not know {action!r} of "
                f"row {row}"
            )
    return places


def _inputs(model: Classifier, log: LoggedBandit) -> Any:
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return _frame({str(name): log.table.column(str(name), "target").natural() for name in names})
    columns = [log.table.column(name, "target") for name in log.context_columns]
    wanted = getattr(model, "n_features_in_", len(columns))
    if wanted != len(columns):
        raise InputError(
            f"`target` must be trained on the {len(columns)} context columns of the log, got a classifier of "
            f"{wanted} features; give a function of the log instead, such as "
            "lambda log: model.predict_proba(log.features())"
        )
    for name, column in zip(log.context_columns, columns, strict=True):
        if column.kind not in ("number", "boolean"):
            raise InputError(
                f"`target` must be trained on named columns if the context is not all numbers, and `{name}` "
                f"holds {column.kind}; "
                "train it on a data frame, or give a function of the log"
            )
    return np.column_stack([column.values.astype(np.float64) for column in columns])


def _frame(columns: dict[str, Any]) -> Any:
    for library in ("pandas", "polars"):
        try:
            return import_module(library).DataFrame(columns)
        except ModuleNotFoundError:
            continue
    raise InputError(
        "`target` must be given as a function here: a classifier trained on named columns needs pandas or "
        "polars"
    )
