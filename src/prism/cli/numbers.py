"""Numbers as they are typed, and texts short enough to be repeated in one line of error."""

from argparse import ArgumentTypeError

from prism.numerics.ranges import LARGEST_SINGLE, MOST_WHOLE, SMALLEST_SINGLE, fits_single_precision
from prism.numerics.texts import shortened

LONGEST = 48
"""Characters of a text that an error repeats."""


def repeated(text: str) -> str:
    """What was typed, as an error repeats it."""
    return shortened("".join(character if character.isprintable() else "?" for character in text), LONGEST)


def whole_number(text: str) -> int:
    """A whole number, of a size that can be computed with."""
    try:
        number = int(text) if len(text) <= LONGEST else None
    except ValueError:
        raise ArgumentTypeError(f"{repeated(text)!r} is no whole number") from None
    if number is None or abs(number) > MOST_WHOLE:
        raise ArgumentTypeError(f"{repeated(text)} is out of range; give a whole number of at most {MOST_WHOLE}")
    return number


def real_number(text: str) -> float:
    """A number that single precision holds; NaN and infinity are left to the option, which knows what it may be."""
    try:
        number = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{repeated(text)!r} is no number") from None
    if abs(number) < float("inf") and not fits_single_precision(number):
        raise ArgumentTypeError(
            f"{repeated(text)} is beyond single precision; give a size from {SMALLEST_SINGLE:.2g} to "
            f"{LARGEST_SINGLE:.2g}"
        )
    return number
