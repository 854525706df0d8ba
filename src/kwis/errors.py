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

    Examples
    --------
    >>> issubclass(kwis.InputError, kwis.KwisError)
    True
    """

    def __init__(self, *sentence: object) -> None:
        super().__init__(*(visible(part) if isinstance(part, str) else part for part in sentence))


class InputError(KwisError, ValueError):
    """An argument breaks its rule.

    Examples
    --------
    >>> try:
    ...     kwis.WeightedSample(context=[[0.0]], weight=[-1.0], reward=[1.0])
    ... except kwis.InputError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class UnsupportedError(KwisError, ValueError):
    """The question is well posed, but this method has no honest answer to it.

    Examples
    --------
    >>> issubclass(kwis.UnsupportedError, kwis.KwisError)
    True
    """


class KwisWarning(UserWarning):
    """The answer stands, but something about it deserves attention.

    Examples
    --------
    >>> issubclass(kwis.KwisWarning, UserWarning)
    True
    """

    def __init__(self, *sentence: object) -> None:
        super().__init__(*(visible(part) if isinstance(part, str) else part for part in sentence))
