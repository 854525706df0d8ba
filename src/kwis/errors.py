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
    """Base of every error raised on purpose."""

    def __init__(self, *sentence: object) -> None:
        super().__init__(*(visible(part) if isinstance(part, str) else part for part in sentence))


class InputError(KwisError, ValueError):
    """An argument breaks its rule."""


class UnsupportedError(KwisError, ValueError):
    """The question is well posed, but this method has no honest answer to it."""


class KwisWarning(UserWarning):
    """The answer stands, but something about it deserves attention."""

    def __init__(self, *sentence: object) -> None:
        super().__init__(*(visible(part) if isinstance(part, str) else part for part in sentence))
