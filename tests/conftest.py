"""Settings for all tests: properties are tried on the same examples every time, however slow the machine."""

from hypothesis import settings

settings.register_profile("kwis", derandomize=True, deadline=None, database=None, max_examples=60)
settings.load_profile("kwis")
