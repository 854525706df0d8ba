"""``obp.policy`` is not part of kwis; importing from here says what to do."""

from kwis.compat.obp.refused import kept_elsewhere

__getattr__ = kept_elsewhere("obp.policy")
