"""How the variance of a stochastic gradient grows with the parameter, for each modulation and four equations.

    V(μ) = E |g − E g|² / |E g|²,     g the gradient of the loss of one batch at that μ, over draws of 16 coordinates

of a network trained for a while, along the first parameter of the box, the others in the middle.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from matplotlib.figure import Figure

from prism.estimators import Coordinates
from prism.families import AllenCahn, Poisson, SineGordon, SineGordonBeta
from prism.networks import Architecture
from prism.objective import Batch
from prism.runs import first_state
from prism.settings import Settings
from prism.shapes import Keys
from prism.streams import CHECK, PROBLEM, stream
from prism.studies.trials import MODULATIONS, SEEDS, Row, Study, Tell, averaged
from prism.training.advance import TrainingState
from prism.training.optimisers import Adam
from prism.training.program import Program

DIMENSION, DRAWS, PLACES = 100, 64, 5
STEPS, FULL_STEPS = 300, 5_000
EQUATIONS = {
    "poisson": Poisson,
    "allen-cahn": AllenCahn,
    "sine-gordon": SineGordon,
    "sine-gordon-beta": SineGordonBeta,
}
COMPARED = [name for name in MODULATIONS if name != "none"]


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each equation, modulation, seed and place in the box."""
    rows: list[Row] = []
    for equation in EQUATIONS:
        for modulation in COMPARED:
            tell(f"{equation}, {modulation}")
            program = None
            for seed in SEEDS:
                state, settings = _begin(equation, modulation, seed)
                program = program or Program.compile(state, settings.optimiser)
                steps = FULL_STEPS if full else STEPS
                state, _ = program(state, steps, float(steps))
                rows += [{"equation": equation, "modulation": modulation, "seed": seed} | row for row in along(state)]
    return rows


def _begin(equation: str, modulation: str, seed: int):
    family = EQUATIONS[equation].create(DIMENSION, stream(seed, PROBLEM))
    architecture = Architecture(modulation=MODULATIONS[modulation], affine=0)
    settings = Settings(Coordinates(16), Adam(), architecture, seed=seed).completed(family)
    return first_state(family, settings), settings


def along(state: TrainingState) -> list[Row]:
    """V at some places from one end of the first parameter to the other."""
    space = state.objective.family.parameters
    low, high = space.uniform_box()
    batch, keys = state.objective.draw(stream(0, CHECK)), jax.random.split(stream(1, CHECK), DRAWS)
    rows: list[Row] = []
    for share in np.linspace(0.0, 1.0, PLACES):
        mu = space.from_uniform_coordinate(((low + high) / 2).at[0].set(low[0] + share * (high[0] - low[0])))
        here = Batch(batch.points, jnp.broadcast_to(mu, batch.parameters.shape), batch.key)
        rows.append({"share of the box": float(share), "variance": float(_variance(state, here, keys))})
    return rows


@eqx.filter_jit
def _variance(state: TrainingState, batch: Batch, keys: Keys) -> Float[Array, ""]:
    def gradient(key) -> Float[Array, "P"]:
        drawn = eqx.tree_at(lambda b: b.key, batch, key)
        return ravel_pytree(eqx.filter_grad(lambda model: state.objective.loss(model, drawn))(state.model))[0]

    gradients = jax.lax.map(gradient, keys)
    mean = jnp.mean(gradients, axis=0)
    return jnp.mean(jnp.sum((gradients - mean[None]) ** 2, axis=1)) / jnp.sum(mean**2)


def growth(rows: Sequence[Row]) -> list[Row]:
    """V at the upper end of the box over V at the lower, for each run."""
    ends = [row for row in rows if row["share of the box"] in (0.0, 1.0)]
    runs: dict[tuple, dict] = {}
    for row in ends:
        key = (row["equation"], row["modulation"], row["seed"])
        runs.setdefault(key, {})[row["share of the box"]] = row["variance"]
    return [
        {"equation": equation, "modulation": modulation, "seed": seed, "growth": values[1.0] / values[0.0]}
        for (equation, modulation, seed), values in runs.items()
    ]


def summary(rows: Sequence[Row]) -> list[Row]:
    lower = averaged([row for row in rows if row["share of the box"] == 0.0], ["equation", "modulation"], ["variance"])
    grown = averaged(growth(rows), ["equation", "modulation"], ["growth"])
    return [first | second for first, second in zip(lower, grown, strict=True)]


def finding(rows: Sequence[Row]) -> str:
    lines = averaged(growth(rows), ["equation", "modulation"], ["growth"])
    parts = []
    for equation in EQUATIONS:
        here = [f"{row['modulation']} {row['growth']:.2g}" for row in lines if row["equation"] == equation]
        parts.append(f"{equation}: {', '.join(here)}")
    return f"Relative variance of the gradient at the upper end of the box over that at the lower. {'; '.join(parts)}."


def figure(rows: Sequence[Row]) -> Figure:
    """V along the box for each equation and modulation."""
    drawn = Figure(figsize=(11.0, 3.4), layout="constrained")
    for axis, equation in zip(drawn.subplots(1, len(EQUATIONS), squeeze=False)[0], EQUATIONS, strict=True):
        lines = averaged(
            [row for row in rows if row["equation"] == equation], ["modulation", "share of the box"], ["variance"]
        )
        for name in COMPARED:
            here = [line for line in lines if line["modulation"] == name]
            axis.errorbar(
                [line["share of the box"] for line in here],
                [line["variance"] for line in here],
                yerr=[line["± variance"] for line in here],
                fmt="o-",
                capsize=3,
                label=name,
            )
        axis.set(yscale="log", xlabel="place in the box", title=equation)
    drawn.axes[0].set_ylabel("relative variance of the gradient")
    drawn.axes[0].legend(fontsize=8)
    return drawn


STUDY = Study(run, figure, summary, finding)
