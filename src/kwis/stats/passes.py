"""Compiled loops over some rows of long columns, each of them one pass: :mod:`kwis.stats.long` calls them."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np

from kwis.runtime.compile import compiled

SHIFT = 46  # of the bits of a number: exponent and six bits after it are left
SIZE = (1 << 63) - 1  # all bits but that of the sign, which a 0 may have


@compiled(nogil=True, error_model="numpy")
def extent(values):
    least, largest, zeros, total, squares = np.inf, 0.0, 0.0, 0.0, 0.0
    for i in range(values.shape[0]):
        x = values[i]
        if x > 0.0:
            least, largest = min(least, x), max(largest, x)
        else:
            zeros += 1.0
        total += x
        squares += x * x
    return least, largest, zeros, total, squares


@compiled(nogil=True, error_model="numpy")
def products(weight, reward):
    total, largest = 0.0, 0.0
    for i in range(weight.shape[0]):
        total += weight[i] * reward[i]
        largest = max(largest, abs(reward[i]))
    return total, largest


@compiled(nogil=True, error_model="numpy")
def fill_normalised(weight, reward, value, factor, influence):
    for i in range(weight.shape[0]):
        influence[i] = (weight[i] * reward[i] - value * weight[i]) * factor


@compiled(nogil=True, error_model="numpy")
def fill_plain(weight, reward, value, influence):
    for i in range(weight.shape[0]):
        influence[i] = weight[i] * reward[i] - value


@compiled(nogil=True, error_model="numpy")
def moments(influence):
    largest, squares, fourth = 0.0, 0.0, 0.0
    for i in range(influence.shape[0]):
        square = influence[i] * influence[i]
        largest = max(largest, abs(influence[i]))
        squares += square
        fourth += square * square
    return largest, squares, fourth


@compiled(nogil=True, error_model="numpy")
def distances(values, centre):
    total = 0.0
    for i in range(values.shape[0]):
        total += (values[i] - centre) * (values[i] - centre)
    return total


@compiled(nogil=True, error_model="numpy")
def left_out(influence, leverage):
    largest, squares, fourth, shares, moves, most = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(influence.shape[0]):
        x, share = influence[i], leverage[i]
        square, move = x * x, x / (1.0 - share)
        largest, most = max(largest, abs(x)), max(most, share)
        squares += square
        fourth += square * square
        shares += share * share
        moves += move * move
    return largest, squares, fourth, shares, moves, most


@compiled(nogil=True, error_model="numpy")
def left_out_apart(a, b, leverage_a, leverage_b):
    largest, squares, fourth, shares, moves, most = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(a.shape[0]):
        x, share = a[i] - b[i], max(leverage_a[i], leverage_b[i])
        square, move = x * x, x / (1.0 - share)
        largest, most = max(largest, abs(x)), max(most, share)
        squares += square
        fourth += square * square
        shares += share * share
        moves += move * move
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


@compiled(nogil=True, error_model="numpy")
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
    for i in range(values.shape[0]):
        x, place = values[i], 0
        while place < number and found[place] != x:
            place += 1
        if place == number:
            if number == found.shape[0]:
                return -1
            found[number] = x
            number += 1
        counts[place] += 1
    return number
