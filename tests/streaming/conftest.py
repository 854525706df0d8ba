"""Every log of these tests counts as too large for memory, so that it is evaluated in batches."""

from collections.abc import Iterator

import pytest

from kwis.streaming import collect


@pytest.fixture(scope="module", autouse=True)
def _in_batches() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect, "COLLECTED_ROWS", 0)
        yield
