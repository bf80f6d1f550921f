"""Numbers that a computation can hold. No array library is imported: the parser of the command line asks too."""

LARGEST_SINGLE, SMALLEST_SINGLE = (2.0 - 2.0**-23) * 2.0**127, 2.0**-126
"""Of single precision: beyond the first is infinity; below the second a processor may take zero."""
MOST_WHOLE = 2**53
"""Above it, double precision does not tell whole numbers apart."""
MOST_COUNTED = 2**31 - 1
"""What a counter of 32 bits reaches."""


def fits_single_precision(value: int | float) -> bool:
    """Whether single precision tells a number from infinity and, where it is not zero, from zero."""
    return value == 0 or SMALLEST_SINGLE <= abs(value) <= LARGEST_SINGLE
