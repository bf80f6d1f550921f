"""Time alone, in units of its spread:  z = (t − T/2) √12 / T."""

from collections.abc import Sequence

import equinox as eqx

from prism.errors import InputError
from prism.networks.lifts.groups import Along, Coefficients, Group, Recipe, of_polynomial
from prism.networks.lifts.parts import Time
from prism.networks.modulation import Modulation
from prism.problem.domains import Domain
from prism.shapes import Hidden, Point


class TimeChannel(Group):
    """z = (t − T/2) √12 / T: one channel that does not see the space."""

    part: Time = eqx.field(static=True)
    horizon: float = eqx.field(static=True)

    @staticmethod
    def create(part: Time, domain: Domain) -> "TimeChannel":
        if domain.time_horizon is None:
            raise InputError("a lift with Time() needs a domain with time, such as TimeCylinder(WholeSpace(d), 1.0)")
        return TimeChannel(part, domain.time_horizon)

    @property
    def channels(self) -> int:
        return 1

    @property
    def modulated(self) -> tuple[int, ...]:
        return ()

    @property
    def workspace(self) -> int:
        return 1

    @property
    def sees_space(self) -> bool:
        return False

    @property
    def scale(self) -> float:
        """√12 / T."""
        return 12.0**0.5 / self.horizon

    @property
    def recipe(self) -> Recipe:
        return Recipe("time", {"horizon": self.horizon, "scale": self.scale}, {})

    def __call__(self, x: Point, modulations: Sequence[Modulation]) -> Hidden:
        return self.scale * (x[-1:] - self.horizon / 2)

    def along(self, x: Point, modulations: Sequence[Modulation], along: Along) -> Coefficients:
        """A linear function of t has no coefficient beyond the first."""
        first = self.scale * along.decomposition.directions.beyond(x.shape[0] - 1)
        return of_polynomial(along, first[:, None])
