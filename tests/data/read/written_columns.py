"""Columns of text as logs have them, and whether each was meant as labels or has to be asked about.

A column that was meant as numbers or dates must be asked about; labels must not be, but for those nobody
could tell from numbers. The rule in :mod:`kwis.data.written` was decided on ``DECIDED_ON``; ``HELD_OUT``
was written before the rule was first run on it, and the rule was not changed after.
"""

from __future__ import annotations

import random
from collections.abc import Callable

ROWS = 300
Draw = Callable[[random.Random], str]


def among(usual: Draw, odd: Draw | str, share: float) -> Draw:
    """Entries of one kind, and of another in a share of the rows."""

    def draw(rng: random.Random) -> str:
        if rng.random() >= share:
            return usual(rng)
        return odd if isinstance(odd, str) else odd(rng)

    return draw


def one_of(*labels: str) -> Draw:
    return lambda rng: rng.choice(labels)


def column(draw: Draw, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return [draw(rng) for _ in range(ROWS)]


def _age(rng: random.Random) -> str:
    return str(rng.randint(18, 90))


def _fraction(rng: random.Random) -> str:
    return f"{rng.random():.3f}"


def _day(rng: random.Random) -> str:
    return f"{rng.randint(1, 28):02}/01/2024"


DECIDED_ON: dict[str, tuple[Draw, str]] = {
    "ages and 0.5 % unknown": (among(_age, "unknown", 0.005), "asked"),
    "ages and 5 % dashes": (among(_age, "-", 0.05), "asked"),
    "ages and 20 % n/a": (among(_age, "n/a", 0.2), "asked"),
    "ages and 45 % unknown": (among(_age, "unknown", 0.45), "asked"),
    "ages and 60 % unknown": (among(_age, "unknown", 0.6), "asked"),
    "ages and 80 % question marks": (among(_age, "?", 0.8), "asked"),
    "one to five and 5 % other": (among(one_of(*"12345"), "other", 0.05), "asked"),
    "one to five and 30 % other": (among(one_of(*"12345"), "other", 0.3), "labels"),
    "one to four and 5+": (among(one_of(*"1234"), "5+", 0.12), "labels"),
    "numbers and 12 % words": (among(_fraction, one_of("low", "high", "none"), 0.12), "asked"),
    "numbers and inf": (among(_fraction, "inf", 0.02), "asked"),
    "numbers and faults of a spreadsheet": (among(_fraction, "#DIV/0!", 0.02), "asked"),
    "American postcodes": (lambda rng: f"{rng.randint(501, 99950):05}", "labels"),
    "American postcodes of the west": (lambda rng: str(rng.randint(80000, 99950)), "asked"),
    "long American postcodes": (
        lambda rng: f"{rng.randint(501, 9999):05}-{rng.randint(0, 9999):04}",
        "labels",
    ),
    "British postcodes": (
        lambda rng: f"{rng.choice('ABC')}{rng.randint(1, 9)} {rng.randint(1, 9)}XY",
        "labels",
    ),
    "Dutch postcodes": (lambda rng: f"{rng.randint(1000, 9999)} AB", "labels"),
    "users": (lambda rng: f"u{rng.randint(1, 9999)}", "labels"),
    "hexadecimal": (lambda rng: f"{rng.getrandbits(32):08x}", "labels"),
    "versions of three parts": (
        lambda rng: f"{rng.randint(1, 4)}.{rng.randint(0, 9)}.{rng.randint(0, 9)}",
        "labels",
    ),
    "few versions": (one_of("1.0", "1.1", "2.0"), "labels"),
    "addresses of machines": (lambda rng: f"10.{rng.randint(0, 255)}.{rng.randint(0, 255)}.1", "labels"),
    "telephones": (lambda rng: f"+44 {rng.randint(1000, 9999)} {rng.randint(100000, 999999)}", "labels"),
    "ranges": (one_of("18-25", "26-40", "41-60", "61+"), "labels"),
    "decimal commas": (lambda rng: f"{rng.randint(0, 99)},{rng.randint(0, 9)}", "asked"),
    "thousands by comma": (lambda rng: f"{rng.randint(1, 9)},{rng.randint(0, 999):03}", "asked"),
    "millions by dot": (lambda rng: f"{rng.randint(1, 9)}.{rng.randint(0, 999):03}.000", "asked"),
    "thousands by underscore": (lambda rng: f"1_{rng.randint(100, 999)}", "asked"),
    "dollars": (lambda rng: f"${rng.randint(1, 999)}", "asked"),
    "francs": (lambda rng: f"CHF {rng.randint(1, 999)}", "asked"),
    "crowns": (lambda rng: f"{rng.randint(1, 999)} kr", "asked"),
    "percent": (lambda rng: f"{rng.randint(1, 99)}%", "asked"),
    "exponents with commas": (lambda rng: f"{rng.randint(1, 9)},{rng.randint(10, 99)}e-5", "asked"),
    "true and false": (one_of("True", "False"), "labels"),
    "0, 1 and 3 % unknown": (among(one_of("0", "1"), "unknown", 0.03), "labels"),
    "20 shops": (lambda rng: str(100 + rng.randint(0, 19)), "labels"),
    "dates with strokes": (_day, "asked"),
    "dates with strokes and 3 % unknown": (among(_day, "unknown", 0.03), "asked"),
    "birth years": (lambda rng: str(rng.randint(1950, 2020)), "asked"),
    "letters": (one_of(*"ABCDE"), "labels"),
    "codes of diseases": (
        lambda rng: f"{rng.choice('ABC')}{rng.randint(10, 99)}.{rng.randint(0, 9)}",
        "labels",
    ),
    "sizes of clothes": (one_of("36", "38", "40", "42", "S", "M"), "labels"),
    "identifiers of 19 digits": (lambda rng: str(rng.randint(10**18, 10**19)), "labels"),
}

HELD_OUT: dict[str, tuple[Draw, str]] = {
    "incomes and 1 % refused": (among(lambda rng: str(rng.randint(900, 9000)), "refused", 0.01), "asked"),
    "incomes and 35 % blank words": (
        among(lambda rng: str(rng.randint(900, 9000)), "(blank)", 0.35),
        "asked",
    ),
    "incomes and 70 % none": (among(lambda rng: str(rng.randint(900, 9000)), "none", 0.7), "asked"),
    "temperatures and two words": (
        among(lambda rng: f"{rng.uniform(-9, 30):.1f}", one_of("broken", "off"), 0.25),
        "asked",
    ),
    "temperatures and decimal commas": (
        among(lambda rng: f"{rng.uniform(-9, 30):.1f}", lambda rng: f"{rng.randint(1, 30)},5", 0.3),
        "asked",
    ),
    "stars and 2 % unrated": (among(one_of(*"12345"), "unrated", 0.02), "asked"),
    "stars and 40 % unrated": (among(one_of(*"12345"), "unrated", 0.4), "labels"),
    "household sizes and more": (among(one_of(*"123456"), "7 or more", 0.15), "labels"),
    "rupees": (lambda rng: f"₹ {rng.randint(1, 99)},{rng.randint(0, 999):03}", "asked"),
    "euros after a German comma": (
        lambda rng: f"{rng.randint(1, 9)}.{rng.randint(0, 999):03},{rng.randint(10, 99)} €",
        "asked",
    ),
    "Swiss thousands": (lambda rng: f"{rng.randint(1, 9)}'{rng.randint(0, 999):03}.50", "asked"),
    "French thousands": (lambda rng: f"{rng.randint(1, 9)}\u202f{rng.randint(0, 999):03}", "asked"),
    "signed percent": (lambda rng: f"{rng.choice('+-')}{rng.randint(1, 99)}.5 %", "asked"),
    "numbers in blanks": (lambda rng: f" {rng.randint(1, 999)} ", "asked"),
    "dots and dates": (lambda rng: f"{rng.randint(1, 28)}.{rng.randint(1, 12)}.2023", "asked"),
    "dates of Asia": (lambda rng: f"2023/{rng.randint(1, 12):02}/{rng.randint(1, 28):02}", "asked"),
    "ISO dates and 4 % tbd": (among(lambda rng: f"2023-05-{rng.randint(1, 28):02}", "tbd", 0.04), "asked"),
    "dates with strokes and 30 % gaps": (among(_day, "N/A", 0.3), "asked"),
    "minutes and seconds": (lambda rng: f"{rng.randint(0, 59)}:{rng.randint(0, 59):02}", "labels"),
    "kernels of systems": (lambda rng: f"5.{rng.randint(0, 19)}.{rng.randint(0, 199)}-generic", "labels"),
    "German postcodes": (lambda rng: f"{rng.randint(1067, 99998):05}", "labels"),
    "Brazilian postcodes": (lambda rng: f"{rng.randint(1000, 99999):05}-{rng.randint(0, 999):03}", "labels"),
    "Japanese postcodes": (lambda rng: f"{rng.randint(100, 999)}-{rng.randint(0, 9999):04}", "labels"),
    "telephones with brackets": (
        lambda rng: f"(020) {rng.randint(1000, 9999)} {rng.randint(1000, 9999)}",
        "labels",
    ),
    "French telephones": (
        lambda rng: "06 " + " ".join(f"{rng.randint(0, 99):02}" for _ in range(4)),
        "labels",
    ),
    "flights": (lambda rng: f"{rng.choice(['LH', 'BA'])}{rng.randint(1, 999)}", "labels"),
    "licence plates": (
        lambda rng: f"{rng.choice('ABC')}{rng.choice('XYZ')} {rng.randint(100, 999)}",
        "labels",
    ),
    "universal identifiers": (lambda rng: f"{rng.getrandbits(48):012x}-4{rng.getrandbits(12):03x}", "labels"),
    "bar codes of 13 digits": (lambda rng: f"{rng.randint(10**12, 10**13 - 1)}", "asked"),
    "bar codes with zeros": (lambda rng: f"{rng.randint(10**9, 10**12):013}", "labels"),
    "three departments": (one_of("10", "20", "30"), "labels"),
    "coordinates": (lambda rng: f"{rng.uniform(40, 50):.2f},{rng.uniform(0, 9):.2f}", "labels"),
    "scores of matches": (lambda rng: f"{rng.randint(0, 9)}:{rng.randint(0, 9)}", "labels"),
    "browsers": (lambda rng: f"Firefox {rng.randint(80, 140)}", "labels"),
    "weekdays": (one_of("Mon", "Tue", "Wed"), "labels"),
    "t and f": (one_of("t", "f"), "labels"),
    "0, 1 and dashes": (among(one_of("0", "1"), "-", 0.04), "labels"),
    "lists of genres": (lambda rng: f"{rng.choice(['war', 'art'])}|{rng.randint(1, 9)}", "labels"),
    "names with a few numbers": (
        among(lambda rng: f"name{rng.randint(0, 99)}", lambda rng: str(rng.randint(0, 9)), 0.05),
        "labels",
    ),
}
