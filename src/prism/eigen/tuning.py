"""Fine-tuning at one μ: the energy there alone, kept where it is lower.

No truth is needed to judge it: a lower energy is nearer to the exact one, which lies below all.
"""

import math
import time
from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from prism.eigen.network import TensorNetwork
from prism.eigen.objective import EnergyObjective
from prism.eigen.precise import levels_at
from prism.eigen.settings import EigenSettings
from prism.errors import InputError
from prism.numerics.keys import Purpose, stream
from prism.problem.potential import Potential
from prism.shapes import Parameter
from prism.training.advance import TrainingState
from prism.training.program import Program

CHUNK = 5
"""Steps between looks at the clock."""
NEVER = 1e9
"""The end of the decay, as long as nobody knows how long a step takes."""


@dataclass(frozen=True)
class TunedLevels:
    """A network at one μ, and what it took."""

    network: TensorNetwork
    levels_before: tuple[float, ...]
    levels_after: tuple[float, ...]
    steps: int
    seconds: float

    @property
    def gained(self) -> bool:
        """Whether the sum of the levels is lower, and so nearer to the exact one."""
        return sum(self.levels_after) < sum(self.levels_before)

    @property
    def advice(self) -> str:
        """What to do where nothing was gained."""
        if self.steps == 0:
            return "no step was made, for compilation took the time there was; give more seconds"
        return (
            "nothing was gained: the level was as low as this network gets here; train longer, or with more functions"
        )


def tune_levels(
    network: TensorNetwork,
    potential: Potential,
    settings: EigenSettings,
    mu: Float[np.ndarray, "p"],
    seconds: float,
    seed: int,
) -> TunedLevels:
    """Train all weights for one μ within so many seconds, compilation included."""
    if not 0.0 < seconds < math.inf:
        raise InputError(f"{seconds:g} seconds are no budget; give a positive number")
    begun = time.perf_counter()
    objective, optimiser = at_one(settings.objective(potential), jnp.asarray(mu, float)), settings.optimiser
    state = TrainingState.create(network, optimiser, objective, stream(seed, Purpose.TUNING))
    # A step takes the memory of its state, which no other may hold.
    state = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True) if eqx.is_array(leaf) else leaf, state)
    levels = lambda network: tuple(levels_at(network, potential, mu[None], settings.levels)[0].tolist())
    before = levels(network)
    program = Program.trace(state, optimiser)
    program.compile()
    compiled, step = time.perf_counter(), 0
    while (now := time.perf_counter()) < begun + seconds:
        share = (now - compiled) / (begun + seconds - compiled)
        state, _ = program(state, CHUNK, step / share if step else NEVER)
        step = int(state.step)
    after = levels(state.model)
    kept, found = (state.model, after) if sum(after) < sum(before) else (network, before)
    return TunedLevels(kept, before, found, int(state.step), time.perf_counter() - begun)


def at_one(objective: EnergyObjective, mu: Parameter) -> EnergyObjective:
    """The same for one μ alone; where a step has all coordinates, one copy of μ is enough."""
    params = 1 if objective.sampling.coordinates == objective.potential.dimension else objective.sampling.params
    sampling = replace(objective.sampling, params=params)
    return type(objective)(objective.potential, sampling, mu)
