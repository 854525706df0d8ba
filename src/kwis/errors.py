"""Everything kwis raises or warns about.

::

    KwisError                      catch this to catch all of ours
    ├── InputError (ValueError)    an argument breaks its rule: which, what rule, what value, which row
    └── UnsupportedError           a valid question this method cannot answer honestly

    KwisWarning (UserWarning)      the answer stands, but read this first
"""


class KwisError(Exception):
    """Base of every error raised on purpose."""


class InputError(KwisError, ValueError):
    """An argument breaks its rule."""


class UnsupportedError(KwisError, ValueError):
    """The question is well posed, but this method has no honest answer to it."""


class KwisWarning(UserWarning):
    """The answer stands, but something about it deserves attention."""
