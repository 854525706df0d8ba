"""How far pairs of vectors are apart, in compiled code: for the many pairs of many policies."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

from kwis.runtime.compile import compiled

_FAST = {"nnan", "ninf", "nsz", "reassoc", "contract"}
_CHUNK = 1024  # entries that stay in the fastest memory while all pairs pass by
_PIECE = 512  # the same of several vectors


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
def moments_apart(vectors, shares, inverses, others, first, second, mine, theirs, out):
    """Write to ``out`` (5, pairs) by what the pairs ``first, second`` of rows of ``vectors`` are apart.

    With ``d`` their difference, and ``s`` and ``i`` the larger of the rows ``mine`` and ``theirs`` of
    ``shares`` and ``inverses``: the sums of ``d^2``, ``d^4``, ``s^2`` and ``(d i)^2``, and of the squares of
    the difference of their others, where there are such.
    """
    out[:] = 0.0
    for start in range(0, vectors.shape[1], _PIECE):
        stop = min(start + _PIECE, vectors.shape[1])
        for pair in range(first.shape[0]):
            a, b = vectors[first[pair], start:stop], vectors[second[pair], start:stop]
            share, other = shares[mine[pair], start:stop], shares[theirs[pair], start:stop]
            one, two = inverses[mine[pair], start:stop], inverses[theirs[pair], start:stop]
            squares, fourth, own, left_out = 0.0, 0.0, 0.0, 0.0
            for j in range(a.shape[0]):
                apart = a[j] - b[j]
                most, moved = max(share[j], other[j]), apart * max(one[j], two[j])
                square = apart * apart
                squares += square
                fourth += square * square
                own += most * most
                left_out += moved * moved
            out[0, pair] += squares
            out[1, pair] += fourth
            out[2, pair] += own
            out[3, pair] += left_out
        for pair in range(first.shape[0] if others.shape[0] > 0 else 0):
            a, b = others[first[pair], start:stop], others[second[pair], start:stop]
            squares = 0.0
            for j in range(a.shape[0]):
                squares += (a[j] - b[j]) * (a[j] - b[j])
            out[4, pair] += squares
