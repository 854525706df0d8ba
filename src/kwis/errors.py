"""Everything kwis raises or warns about.

::

    KwisError                      catch this to catch all of ours
    ├── InputError (ValueError)    an argument breaks its rule: which, what rule, what value, which row
    └── UnsupportedError           a valid question this method cannot answer honestly

    KwisWarning (UserWarning)      the answer stands, but read this first

Their sentences quote data, so they are cleared of what a terminal would obey.
"""

from kwis._text import visible


class KwisError(Exception):
    """Base of every error raised on purpose.

    See Also
    --------
    kwis.InputError : an argument breaks its rule.
    kwis.UnsupportedError : the method has no honest answer.
    kwis.KwisWarning : an answer that deserves attention.

    Examples
    --------
    >>> try:
    ...     kwis.read_log("nowhere.csv")
    ... except kwis.KwisError as error:
    ...     print(error)
    `source` must be a file, a folder or a pattern that matches files, and 'nowhere.csv' does not exist
    """

    def __init__(self, *sentence: object) -> None:
        super().__init__(*(visible(part) if isinstance(part, str) else part for part in sentence))


class InputError(KwisError, ValueError):
    """An argument breaks its rule.

    See Also
    --------
    kwis.KwisError : catches every error of kwis.

    Examples
    --------
    >>> try:
    ...     kwis.WeightedSample(context=[[0.0]], weight=[-1.0], reward=[1.0])
    ... except kwis.InputError as error:
    ...     print(error)
    `weight` must not be negative, got -1.0 at row 0
    """


class UnsupportedError(KwisError, ValueError):
    """The question is well posed, but this method has no honest answer to it.

    See Also
    --------
    kwis.KwisError : catches every error of kwis.

    Examples
    --------
    >>> sample = kwis.WeightedSample(context=[[0.0]], weight=[1.0], reward=[1.0])
    >>> try:
    ...     kwis.LogarithmicSmoothing().interval(kwis.WIS(), sample, level=0.95)
    ... except kwis.UnsupportedError as error:
    ...     print(error)
    `estimator` must be VIS for logarithmic smoothing, a mean of independent terms, got wis
    """


class KwisWarning(UserWarning):
    """The answer stands, but something about it deserves attention.

    See Also
    --------
    kwis.KwisError : what is raised instead where there is no answer.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", kwis.KwisWarning)  # a script may want to stop at any of them
    >>> warnings.filters[0][:3]
    ('error', None, <class 'kwis.errors.KwisWarning'>)
    """

    def __init__(self, *sentence: object) -> None:
        super().__init__(*(visible(part) if isinstance(part, str) else part for part in sentence))
