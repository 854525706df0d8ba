"""Compiled loops over some rows of long columns, each of them one pass: :mod:`kwis.stats.long` calls them."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np

from kwis.runtime.compile import compiled

_REGROUPED = {"reassoc", "contract", "nsz"}  # sums in another order, the same one always
SHIFT = 46  # of the bits of a number: exponent and six bits after it are left
SIZE = (1 << 63) - 1  # all bits but that of the sign, which a 0 may have
_BLOCK = 512  # rows that stay next to the processor from one loop to the next
BEYOND = 0x7FF << 52  # the bits of infinity


@compiled(nogil=True, error_model="numpy")
def number_of(size):
    """The number with such bits: sizes are compared by their bits, several at a time."""
    return np.array([size]).view(np.float64)[0]


@compiled(nogil=True, error_model="numpy", fastmath=_REGROUPED)
def extent(values):
    bits = values.view(np.int64)
    least, largest, zeros, total, squares = BEYOND, 0, 0, 0.0, 0.0
    for i in range(values.shape[0]):
        size, x = bits[i] & SIZE, values[i]
        least, largest = min(least, size if size > 0 else BEYOND), max(largest, size)
        zeros += size == 0
        total += x
        squares += x * x
    return number_of(least), number_of(largest), float(zeros), total, squares


@compiled(nogil=True, error_model="numpy", fastmath=_REGROUPED)
def products(weight, reward):
    bits, largest, total = reward.view(np.int64), 0, 0.0
    for i in range(weight.shape[0]):
        total += weight[i] * reward[i]
        largest = max(largest, bits[i] & SIZE)
    return total, number_of(largest)


@compiled(nogil=True, error_model="numpy")
def fill_normalised(weight, reward, value, factor, influence):
    for i in range(weight.shape[0]):
        influence[i] = (weight[i] * reward[i] - value * weight[i]) * factor


@compiled(nogil=True, error_model="numpy")
def fill_plain(weight, reward, value, influence):
    for i in range(weight.shape[0]):
        influence[i] = weight[i] * reward[i] - value


@compiled(nogil=True, error_model="numpy", fastmath=_REGROUPED)
def moments(influence):
    bits, largest, squares, fourth = influence.view(np.int64), 0, 0.0, 0.0
    for i in range(influence.shape[0]):
        square = influence[i] * influence[i]
        largest = max(largest, bits[i] & SIZE)
        squares += square
        fourth += square * square
    return number_of(largest), squares, fourth


@compiled(nogil=True, error_model="numpy", fastmath=_REGROUPED)
def distances(values, centre):
    total = 0.0
    for i in range(values.shape[0]):
        total += (values[i] - centre) * (values[i] - centre)
    return total


@compiled(nogil=True, error_model="numpy", fastmath=_REGROUPED)
def left_out(influence, leverage):
    bits, bits_of_shares, largest, most = influence.view(np.int64), leverage.view(np.int64), 0, 0
    squares, fourth, shares, moves = 0.0, 0.0, 0.0, 0.0
    for i in range(influence.shape[0]):
        x, share = influence[i], leverage[i]
        square, move = x * x, x / (1.0 - share)
        largest, most = max(largest, bits[i] & SIZE), max(most, bits_of_shares[i] & SIZE)
        squares += square
        fourth += square * square
        shares += share * share
        moves += move * move
    return number_of(largest), squares, fourth, shares, moves, number_of(most)


@compiled(nogil=True, error_model="numpy")
def left_out_apart(a, b, leverage_a, leverage_b):
    apart, leverage = np.empty(_BLOCK), np.empty(_BLOCK)
    largest, squares, fourth, shares, moves, most = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for start in range(0, a.shape[0], _BLOCK):
        rows = min(_BLOCK, a.shape[0] - start)
        x, y = a[start : start + rows], b[start : start + rows]
        for i in range(rows):
            apart[i] = x[i] - y[i]
        x, y = leverage_a[start : start + rows], leverage_b[start : start + rows]
        for i in range(rows):
            leverage[i] = max(x[i], y[i])
        found = left_out(apart[:rows], leverage[:rows])
        largest, most = max(largest, found[0]), max(most, found[5])
        squares += found[1]
        fourth += found[2]
        shares += found[3]
        moves += found[4]
    return largest, squares, fourth, shares, moves, most


@compiled(nogil=True, error_model="numpy")
def count_sizes(bits, counts):
    for i in range(bits.shape[0]):
        counts[(bits[i] & SIZE) >> SHIFT] += 1


@compiled(nogil=True, error_model="numpy")
def gather_sizes(values, bits, wanted, out):
    number = 0
    for i in range(values.shape[0]):
        if wanted[(bits[i] & SIZE) >> SHIFT]:
            out[number] = values[i]
            number += 1
    return number


@compiled(nogil=True, error_model="numpy")
def heaviest(weight, reward, value, sizes, places):
    last = sizes.shape[0] - 1
    for i in range(weight.shape[0]):
        x = abs(weight[i] * reward[i] - value * weight[i])
        if x > sizes[last]:
            j = last
            while j > 0 and sizes[j - 1] < x:
                sizes[j], places[j] = sizes[j - 1], places[j - 1]
                j -= 1
            sizes[j], places[j] = x, i


@compiled(nogil=True, error_model="numpy", fastmath=_REGROUPED)
def loads(weight, reward, usual):
    total, squares = 0.0, 0.0
    for i in range(weight.shape[0]):
        x = weight[i] * abs(reward[i] - usual)
        total += x
        squares += x * x
    return total, squares


@compiled(nogil=True, error_model="numpy")
def few_values(values, found, counts):
    number = 0
    for start in range(0, values.shape[0], _BLOCK):
        some = values[start : start + _BLOCK]
        if number >= 2 and _are_two(some, found, counts):
            continue
        for i in range(some.shape[0]):
            x, place = some[i], 0
            while place < number and found[place] != x:
                place += 1
            if place == number:
                if number == found.shape[0]:
                    return -1
                found[number] = x
                number += 1
            counts[place] += 1
    return number


@compiled(nogil=True, error_model="numpy")
def _are_two(values, found, counts):
    """Count the two first of the values found, if there are no others here."""
    first, second = 0, 0
    for i in range(values.shape[0]):
        first += values[i] == found[0]
        second += values[i] == found[1]
    if first + second < values.shape[0]:
        return False
    counts[0] += first
    counts[1] += second
    return True
