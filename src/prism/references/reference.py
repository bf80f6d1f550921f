"""u = value ± uncertainty: a number that was computed without any network, and how far it may be off."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """One value with the half-width of an interval around it, and the method that gave both.

    >>> first, second = Reference(1.0, 0.25, "series"), Reference(1.5, 0.25, "Monte Carlo")
    >>> first.agrees(second)
    True
    """

    value: float
    uncertainty: float
    method: str

    def agrees(self, other: "Reference") -> bool:
        """Whether the two intervals meet: |difference| ≤ sum of both uncertainties."""
        return abs(self.value - other.value) <= self.uncertainty + other.uncertainty
