"""Time of a training step: one-hot tangents through `jax.experimental.jet` against this engine, in one process.

    python benchmarks/step_time.py [--dims 100,1000,10000,100000] [--out benchmarks/results/step_time.json]

Sine-Gordon with the two-body source; 100 points with one μ each, 16 sampled coordinates, a network of 4 layers of 128,
Adam; drawing the points and evaluating the source are part of a step. Compared are

(a) jet     as the literature on STDE does it: normals of `jax.random`, one set of 16 one-hot tangents for the batch
            pushed through `jax.experimental.jet`, the source with `jnp.sin` and sums; fixed-parameter network
(b) none    this engine, the same fixed-parameter network, 16 coordinates drawn anew for every point
(c) film    this engine, modulated by μ
(d) concat  this engine, μ's embedding added in every layer

All four run inside the same compiled loop with the same guards. Rounds go through the variants in turn, so that a
drift of the machine meets them alike; ratios are medians over rounds. Peak memory is that of a process of its own each.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import tables
from jax.experimental import jet
from jaxtyping import Array

from prism.derivatives.estimators import Coordinates
from prism.families import SineGordon
from prism.files.storage import write_file
from prism.networks.lifts.parts import Dense
from prism.networks.model import Architecture, Model
from prism.networks.modulation import CONCAT, FILM, NONE
from prism.numerics.keys import Purpose, stream
from prism.numerics.memory import peak_rss_megabytes
from prism.objective.batches import Sampling
from prism.reporting.records import environment
from prism.solving.preparation import first_state
from prism.solving.settings import Settings
from prism.training.advance import TrainingState
from prism.training.memory import compiled_bytes
from prism.training.optimisers import Adam
from prism.training.program import Program

POINTS, DIRECTIONS = 100, 16
VARIANTS = {"jet": NONE, "none": NONE, "film": FILM, "concat": CONCAT}
TARGETS = {100: 2.0, 1_000: 2.0, 10_000: 4.0, 100_000: 8.0}
ROUND_SECONDS, ROUNDS = 1.5, 11


class PlainBatch(eqx.Module):
    """Points, parameters, a key for the coordinates that all points share, and the number of the batch."""

    points: Array
    parameters: Array
    key: Array
    number: Array


class OneHotJet(eqx.Module):
    """The objective of variant (a): mean (r / scale)² with one-hot tangents through `jet`."""

    family: SineGordon
    scale: Array

    def draw(self, model: Model, key: Array) -> PlainBatch:
        normal_key, radius_key, parameter_key, index_key = jax.random.split(key, 4)
        normals = jax.random.normal(normal_key, (POINTS, self.family.domain.dimension))
        radii = jax.random.uniform(radius_key, (POINTS, 1))
        points = radii * normals / jnp.linalg.norm(normals, axis=1, keepdims=True)
        keys = jax.random.split(parameter_key, POINTS)
        return PlainBatch(points, jax.vmap(self.family.parameters.sample)(keys), index_key, jnp.zeros((), jnp.int32))

    def loss(self, model: Model, batch: PlainBatch) -> Array:
        dimension = self.family.domain.dimension
        chosen = jax.random.choice(batch.key, dimension, (DIRECTIONS,), replace=False)
        tangents = jax.nn.one_hot(chosen, dimension)

        def residual(x: Array, mu: Array) -> Array:
            second = lambda v: jet.jet(lambda y: plain_solution(model, y), (x,), ((v, jnp.zeros_like(v)),))
            value, (_, bends) = jax.vmap(second)(tangents)
            laplacian = dimension / DIRECTIONS * jnp.sum(bends)
            return laplacian + mu[0] * jnp.sin(mu[1] * value[0]) - plain_source(self.family, x, mu)

        return jnp.mean((jax.vmap(residual)(batch.points, batch.parameters) / self.scale) ** 2)


def plain_solution(model: Model, x: Array) -> Array:
    """(1 − |x|²)·N(x) written out, for `jet`."""
    hidden = jnp.tanh(model.lift(x))
    for weight, bias in zip(model.manifold.weights, model.manifold.biases, strict=True):
        hidden = jnp.tanh(hidden @ weight.T + bias)
    network = model.level + model.amplitude * (hidden @ model.manifold.readout + model.manifold.offset)
    return (1.0 - jnp.sum(x * x)) * network


def plain_source(family: SineGordon, x: Array, mu: Array) -> Array:
    """The closed-form source with `jnp.sin`, `jnp.cos` and `jnp.sum`."""
    c, left, right = family.interaction.coefficients, x[:-1], x[1:]
    phase = mu[0] * left + jnp.cos(mu[1] * right) + right * jnp.cos(left)
    first = mu[0] - right * jnp.sin(left)
    second = jnp.cos(left) - mu[1] * jnp.sin(mu[1] * right)
    bend = -right * jnp.cos(left) - mu[1] ** 2 * jnp.cos(mu[1] * right)
    value = jnp.sum(c * jnp.sin(phase))
    radial = jnp.sum(c * jnp.cos(phase) * (left * first + right * second))
    laplacian = jnp.sum(c * (jnp.cos(phase) * bend - jnp.sin(phase) * (first**2 + second**2)))
    factor = 1.0 - jnp.sum(x * x)
    whole = factor * laplacian - 4.0 * radial - 2.0 * x.shape[0] * value
    return whole + mu[0] * jnp.sin(mu[1] * factor * value)


@dataclass
class Entrant:
    """One variant at one dimension, compiled and ready."""

    name: str
    program: Program
    state: TrainingState
    compile_seconds: float

    @staticmethod
    def prepare(name: str, dimension: int) -> "Entrant":
        family = SineGordon.create(dimension, stream(0, Purpose.PROBLEM))
        settings = Settings(
            Coordinates(DIRECTIONS),
            Adam(),
            Architecture(Dense(128), modulation=VARIANTS[name]),
            Sampling(POINTS, POINTS, crossed=False),
        )
        state = first_state(family, settings)
        if name == "jet":
            state = eqx.tree_at(lambda s: s.objective, state, OneHotJet(family, state.objective.scale))
        begun = time.perf_counter()
        program = Program.trace(state, settings.optimiser)
        program.compile()
        return Entrant(name, program, state, time.perf_counter() - begun)

    def flops_per_step(self) -> float:
        """Floating-point operations as the compiler counts them: it counts the body of the loop once."""
        return float(self.program.compile().cost_analysis()["flops"])

    def seconds_per_step(self, steps: int) -> float:
        begun = time.perf_counter()
        self.state, loss = self.program(self.state, steps, 1e6)
        jax.block_until_ready(loss)
        return (time.perf_counter() - begun) / steps


def measure(dimension: int) -> list[dict]:
    """Rounds through all variants in turn."""
    entrants = [Entrant.prepare(name, dimension) for name in VARIANTS]
    steps = {}
    for entrant in entrants:
        entrant.seconds_per_step(1)
        steps[entrant.name] = max(1, round(ROUND_SECONDS / entrant.seconds_per_step(2)))
    rounds = [{e.name: e.seconds_per_step(steps[e.name]) for e in entrants} for _ in range(ROUNDS)]
    rows = []
    for entrant in entrants:
        times = [times[entrant.name] for times in rounds]
        rows.append(
            {
                "dim": dimension,
                "variant": entrant.name,
                "steps_per_second": 1.0 / statistics.median(times),
                "speed_against_jet": statistics.median(r["jet"] / r[entrant.name] for r in rounds),
                "time_against_none": statistics.median(r[entrant.name] / r["none"] for r in rounds),
                "rounds_seconds_per_step": times,
                "steps_a_round": steps[entrant.name],
                "compile_seconds": entrant.compile_seconds,
                "flops": entrant.flops_per_step(),
                "compiled_mb": compiled_bytes(entrant.program.compile()) / 1024.0**2,
                "peak_rss_mb": _peak_in_own_process(entrant.name, dimension),
            }
        )
    return rows


def _peak_in_own_process(name: str, dimension: int) -> float:
    command = [sys.executable, __file__, "--peak", name, "--dims", str(dimension)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def verdicts(rows: list[dict]) -> list[str]:
    lines = []
    for dimension in sorted({row["dim"] for row in rows}):
        at = {row["variant"]: row for row in rows if row["dim"] == dimension}
        target = TARGETS.get(dimension)
        goal = "" if target is None else f" (to reach {target:g}: {at['none']['speed_against_jet'] >= target})"
        lines.append(
            f"d = {dimension:,}: (b) is {at['none']['speed_against_jet']:.2f} times as fast as (a){goal}; "
            f"(c) takes {at['film']['time_against_none']:.2f} of (b)'s time (to reach 1.10: "
            f"{at['film']['time_against_none'] <= 1.10}); (d) takes {at['concat']['time_against_none']:.2f}"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Time of a training step, side by side.")
    parser.add_argument("--dims", default="100,1000,10000,100000")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "step_time.json")
    parser.add_argument("--peak", choices=VARIANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    dimensions = [int(text) for text in options.dims.split(",")]
    if options.peak:
        Entrant.prepare(options.peak, dimensions[0]).seconds_per_step(2)
        print(peak_rss_megabytes())
        return
    rows = []
    for dimension in dimensions:
        print(f"measuring at d = {dimension:,} ...", file=sys.stderr, flush=True)
        rows += measure(dimension)
        result = {"command": "python benchmarks/step_time.py", "environment": environment(), "rows": rows}
        write_file(options.out, (json.dumps(result, indent=1) + "\n").encode())
    print(tables.step_time({"rows": rows}))
    print("\n".join(verdicts(rows)))


if __name__ == "__main__":
    main()
