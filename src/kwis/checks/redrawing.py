"""The compiled loop over rows that draws actions anew and adds up what they add to sums."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

from kwis.checks.drawn import place_in, uniform
from kwis.runtime.compile import compiled

TOGETHER = 20  # draws that go by a row at a time


@compiled(nogil=True, error_model="numpy", inline="always")
def _few_added(number, ends, gains, slot, added, actions, powers):
    """What drawing one of few actions adds: one comparison after the other, for all draws at once, is quicker
    than a place to be looked up.
    """
    k = ends.shape[0]
    for j in range(powers, gains.shape[1]):
        first = actions + (j - powers) * powers * TOGETHER
        part, gain = added[first : first + TOGETHER], gains[0, j]
        for d in range(TOGETHER):
            part[d] = gain
        for a in range(1, k):
            end, gain = ends[a - 1], gains[a, j]
            for d in range(TOGETHER):
                part[d] = gain if number[d] >= end else part[d]
    for a in range(k):
        low, high = ends[a - 1] if a else 0.0, ends[a]
        for c in range(powers if slot[a] >= 0 else 0):
            first = (slot[a] * powers + c) * TOGETHER
            part, gain = added[first : first + TOGETHER], gains[a, c]
            for d in range(TOGETHER):
                part[d] = gain if (number[d] >= low) & (number[d] < high) else 0.0


# Whatever needs memory is handed in: every array made in compiled code adds to the time it takes to compile.
# Where ``own`` is None, as with few actions, what it would be used for is left out.
@compiled(nogil=True, error_model="numpy")
def add_draws(
    keys,
    start,
    ends,
    gains,
    slot,
    everywhere,
    cells,
    group,
    sharing,
    of_column,
    begins,
    stops,
    of_region,
    numbers,
    chosen,
    added,
    own,
    total,
    out,
):
    """For each draw new actions, and the sums of what they add, by power, subject and region.

    The last ``everywhere`` of the subjects are summed over the whole log alone. Each row looks up a uniform
    number of its own or, as often as ``sharing`` says, that of its group. ``TOGETHER`` draws go by the row
    together, so that what they add is added to sums beside each other: of draw ``d`` in ``added`` and in
    every cell's ``total`` at ``(subject * powers + power) * TOGETHER + d``. Powers of what others add are
    taken here: looking them up would take longer. The cells of test ``t`` are those of ``of_region`` from
    ``begins[t]`` to ``stops[t]``.
    """
    n, width = gains.shape[0], gains.shape[2]
    powers = out.shape[0]
    step = powers * TOGETHER
    others = (width - powers) * step
    actions = added.shape[0] - others
    number, which = numbers[0], numbers[1]
    taken, place = chosen[0], chosen[1]
    for begin in range(0, out.shape[1], TOGETHER):
        for cell in range(total.shape[0]):
            for z in range(total.shape[1]):
                total[cell, z] = 0.0
        for i in range(n):
            for d in range(TOGETHER):
                number[d] = uniform(keys[0, begin + d], start + i)
            if group.shape[0] > 0:
                for d in range(TOGETHER):
                    which[d] = uniform(keys[2, begin + d], start + i)
                for d in range(TOGETHER):
                    if which[d] < sharing:
                        number[d] = uniform(keys[1, begin + d], group[i])
            begun = 0
            if own is None:
                _few_added(number, ends[i], gains[i], slot, added, actions, powers)
            else:
                begun = actions
                for d in range(TOGETHER):
                    taken[d] = place_in(ends, i, number[d])
                for j in range(width - powers):
                    for d in range(TOGETHER):
                        added[actions + j * step + d] = gains[i, taken[d], powers + j]
                for d in range(TOGETHER):
                    place[d] = slot[taken[d]] * step + d
                    for c in range(powers if place[d] >= 0 else 0):
                        own[c * TOGETHER + d] = gains[i, taken[d], c]
            for z in range(actions, added.shape[0], step):
                for p in range(1, powers):
                    for d in range(TOGETHER):
                        added[z + p * TOGETHER + d] = added[z + (p - 1) * TOGETHER + d] * added[z + d]
            for c in range(cells.shape[1]):
                cell = cells[i, c]
                if cell < 0:
                    continue
                stop = added.shape[0] if c == 0 else added.shape[0] - everywhere * step
                part, more = total[cell, begun:stop], added[begun:stop]
                for z in range(more.shape[0]):
                    part[z] += more[z]
                if own is not None:
                    for d in range(TOGETHER):
                        if place[d] >= 0:
                            for p in range(powers):
                                total[cell, place[d] + p * TOGETHER] += own[p * TOGETHER + d]
        for p in range(powers):
            for d in range(TOGETHER):
                for t in range(of_column.shape[0]):
                    amount, z = 0.0, of_column[t] * step + p * TOGETHER + d
                    for cell in of_region[begins[t] : stops[t]]:
                        amount += total[cell, z]
                    out[p, begin + d, t] = amount
