"""How far pairs of vectors are apart, in compiled code: for the many pairs of many policies."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

from kwis.runtime.compile import compiled

_FAST = {"nnan", "ninf", "nsz", "reassoc", "contract"}
_NOTHING = 1e-300  # what is no larger has no finite inverse
_CHUNK = 1024  # entries that stay in the fastest memory while all pairs pass by


@compiled(nogil=True, error_model="numpy", fastmath=_FAST)
def largest_apart(vectors, first, second, scale, out):
    """Write to ``out`` (D,) the largest of ``|vectors[first[p]] - vectors[second[p]]| * scale[p]`` over the
    pairs ``p``.
    """
    for start in range(0, out.shape[0], _CHUNK):
        most = out[start : start + _CHUNK]
        most[:] = 0.0
        for pair in range(first.shape[0]):
            a = vectors[first[pair], start : start + _CHUNK]
            b = vectors[second[pair], start : start + _CHUNK]
            times = scale[pair]
            for j in range(most.shape[0]):
                apart = abs(a[j] - b[j]) * times
                most[j] = max(most[j], apart)


@compiled(nogil=True, error_model="numpy", fastmath=_FAST)
def size_apart(a, b):
    """Largest entry ``m`` of ``|a - b|``, and the sum of the squares of ``(a - b) / m``."""
    largest = 0.0
    for i in range(a.shape[0]):
        apart = abs(a[i] - b[i])
        largest = max(largest, apart)
    times, total = 1 / largest if largest > _NOTHING else 1.0, 0.0
    for i in range(a.shape[0]):
        apart = (a[i] - b[i]) * times
        total += apart * apart
    return largest, total


@compiled(nogil=True, error_model="numpy", fastmath=_FAST)
def moments_apart(a, b, share, other, least):
    """With ``d = (a - b) / m``, ``m`` the largest entry of ``|a - b|``, and ``s`` the larger of the two
    shares: ``m`` and the sums of ``d^2``, ``d^4``, ``s^2`` and ``(d / (1 - s))^2``, ``1 - s`` at
    ``least`` so much.
    """
    largest = 0.0
    for i in range(a.shape[0]):
        apart = abs(a[i] - b[i])
        largest = max(largest, apart)
    times = 1 / largest if largest > _NOTHING else 1.0
    second, fourth, shares, left_out = 0.0, 0.0, 0.0, 0.0
    for i in range(a.shape[0]):
        own = max(other[i], share[i])
        rest = max(least, 1 - own)
        apart = (a[i] - b[i]) * times
        square, moved = apart * apart, apart / rest
        second += square
        fourth += square * square
        shares += own * own
        left_out += moved * moved
    return largest, second, fourth, shares, left_out
