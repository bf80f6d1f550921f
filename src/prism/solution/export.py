"""A solution to take along, without PRISM: as StableHLO, and for NumPy alone.

    prism export runs/first --out first        from the shell
    solution.export("first")                   from Python

Both forms are compared with the live solution before anything is written, and written whole or not at all.
"""

import hashlib
import io
import itertools
import shutil
import textwrap
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from prism.errors import PrismError, PrismWarning
from prism.files import outputs, storage
from prism.files.encoding import json_text
from prism.files.reading import read_bytes
from prism.networks.lifts.lift import Lift
from prism.networks.manifold import Manifold
from prism.networks.model import Model
from prism.networks.modulation import HyperGenerator
from prism.numerics.chunks import CHUNK_NUMBERS
from prism.numerics.keys import Purpose, items, stream
from prism.numerics.precision import in_double_precision
from prism.objective.residuals import solution_value
from prism.problem.constraints import Constraint, Free, VanishingOnSphere
from prism.problem.family import Family
from prism.problem.parameters import LogUniform, Uniform
from prism.problem.terms import sample_pair
from prism.solution import export_numpy
from prism.solution.descriptions import ACTIVATIONS
from prism.solution.limits import Limits
from prism.solution.prediction import asked_points, at_points, value

STABLEHLO, FORWARD, README = "solution.stablehlo", "solution.py", "README.md"
WEIGHTS, DESCRIPTION = export_numpy.WEIGHTS, export_numpy.DESCRIPTION
FILES = {STABLEHLO, FORWARD, WEIGHTS, DESCRIPTION, README, storage.MANIFEST}
PLATFORMS = ("cpu", "cuda")
TOLERANCE = 1e-6
"""Of the largest |u| among the probes."""
PROBES = 64


def export(model: Model, family: Family, limits: Limits, path: Path, force: bool = False) -> dict[str, object]:
    """Write both forms to a directory; returns how far each is from the live solution, relative to its size.

    Both tell of each point whether it lies beyond `limits`, where the solution was trained.

    Each is compared in the precision in which it computes: StableHLO in the solution's own, NumPy in double precision.
    `rounding` is how far the live solution itself is from its value in double precision.
    """
    check_place(path, force)
    files = {STABLEHLO: stablehlo(model, family, limits)}
    if obstacle := numpy_obstacle(model, family):
        warnings.warn(f"no NumPy form: {obstacle}; {STABLEHLO} is exported alone", PrismWarning, stacklevel=2)
    else:
        files |= numpy_files(model, family, limits)
    differences = _differences(model, family, files)
    for name in differences.keys() & files.keys():
        if not differences[name] <= TOLERANCE:
            raise PrismError(f"{name} differs by {differences[name]:.1e} of the solution's size; nothing was written")
    files[README] = _readme(model, family, DESCRIPTION in files).encode()
    shutil.rmtree(path / "__pycache__", ignore_errors=True)
    storage.write_directory(path, files)
    return {
        "family": type(family).__name__,
        "out": str(path),
        "platforms": list(PLATFORMS),
        "stablehlo_difference": differences[STABLEHLO],
        "numpy_difference": differences.get(FORWARD),
        "tolerance": TOLERANCE,
        "rounding": differences["rounding"],
        "bytes": {name: len(content) for name, content in files.items()},
    }


def check_place(path: Path, force: bool) -> None:
    """Refuse a path in use; when forced, an earlier export may be replaced, and nothing else."""
    outputs.check_export(path, force, FILES, FORWARD)


def stablehlo(model: Model, family: Family, limits: Limits) -> bytes:
    """(points, μ) ↦ (u, whether it is beyond what was trained) for any number of both, its weights constants, lowered
    for every platform of `PLATFORMS`."""

    def u(
        points: Float[Array, "batch coordinates"], mu: Float[Array, "batch p"]
    ) -> tuple[Float[Array, "batch"], Bool[Array, "batch"]]:
        low, high = (jnp.asarray(end, dtype)[None] for end in limits.parameter_box())
        beyond = jnp.any((mu < low) | (mu > high), axis=1) | limits.region.outside(points)
        return jax.vmap(lambda x, m: solution_value(model, family, x, m))(points, mu), beyond

    (batch,) = jax.export.symbolic_shape("batch")
    dtype = model.lift.weight.dtype
    sizes = family.domain.coordinates, family.parameters.size
    arguments = [jax.ShapeDtypeStruct((batch, size), dtype) for size in sizes]
    return bytes(jax.export.export(jax.jit(u), platforms=PLATFORMS)(*arguments).serialize())


def numpy_obstacle(model: Model, family: Family) -> str | None:
    """What of the solution `export_numpy` cannot say: code of the user's own, which only JAX runs."""
    if obstacle := network_obstacle(model):
        return obstacle
    constraint = family.constraint()
    if type(constraint) not in (Free, VanishingOnSphere):
        return f"the constraint {type(constraint).__name__} is code that only JAX can run"
    if family.has_background:
        return f"the background of {type(family).__name__} is code that only JAX can run"
    return None


def network_obstacle(model: Model) -> str | None:
    """What of the network is code of the user's own."""
    parts = (
        ("parameter space", model.parameters, (Uniform, LogUniform)),
        ("activation", model.manifold.activation, tuple(ACTIVATIONS.values())),
        ("network", model, (Model,)),
        ("lift", model.lift, (Lift,)),
        ("manifold", model.manifold, (Manifold,)),
        ("generator", model.generator, (HyperGenerator,)),
    )
    for name, part, known in parts:
        if type(part) not in known:
            return f"the {name} {type(part).__name__} is code that only JAX can run"
    for group in model.lift.groups:
        if group.recipe.kind not in export_numpy.GROUP_ARRAYS:
            return f"the lift's part {type(group).__name__} is code that only JAX can run"
    return None


def numpy_files(model: Model, family: Family, limits: Limits) -> dict[str, bytes]:
    """solution.py, which is `export_numpy` as it stands, and the two files that it reads."""
    constraint, recipes = family.constraint(), [group.recipe for group in model.lift.groups]
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **numpy_weights(model))
    weights = content.getvalue()
    description = {
        "format": export_numpy.FORMAT,
        "family": type(family).__name__,
        "coordinates": family.domain.coordinates,
        "parameters": model.parameters.bounds(),
        "trained": np.transpose(limits.parameter_box()).tolist(),
        "region": limits.region.as_json(),
        **network_layout(model),
        "groups": [{"kind": recipe.kind, **recipe.numbers} for recipe in recipes],
        **_vanishing(constraint),
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
    }
    return {
        FORWARD: read_bytes(export_numpy.__file__),
        DESCRIPTION: (json_text(description, indent=2) + "\n").encode(),
        WEIGHTS: weights,
    }


def network_layout(model: Model) -> dict[str, object]:
    """How the arrays of a network are put together, its lift apart."""
    return {
        "logarithmic": model.parameters.logarithmic,
        "activation": type(model.manifold.activation).__name__,
        "layers": model.depth,
        "bent": _numbers(model.lift.bent, model.lift),
        "read_out": _numbers(model.lift.read_out, model.lift),
        "linear_lift": model.manifold.linear_lift,
        "generator_layers": len(model.generator.weights),
    }


def _vanishing(constraint: Constraint) -> dict[str, float | int | None]:
    """On which sphere u vanishes, and with how many derivatives."""
    there = isinstance(constraint, VanishingOnSphere)
    return {
        "vanishing_radius": constraint.radius if there else None,
        "vanishing_power": constraint.power if there else None,
    }


def _numbers(select: Callable[[Array], Array], lift: Lift) -> list[int]:
    """Which of the lift's channels are selected."""
    return np.asarray(select(jnp.arange(lift.width, dtype=float))).astype(int).tolist()


def numpy_weights(model: Model) -> dict[str, np.ndarray]:
    """The arrays by the names that `export_numpy` reads: the readout is its last layer, the heads are cut by layer."""
    manifold, generator = model.manifold, model.generator
    layers = [*[weight.T for weight in manifold.weights], manifold.readout[:, None]]
    ends = list(itertools.accumulate(generator.widths))[:-1]
    cut = lambda head: [] if head is None else jnp.split(head, ends, axis=1)
    numbered: Mapping[str, list] = {
        "weight": layers,
        "bias": [*manifold.biases, manifold.offset[None]],
        "generator_weight": list(generator.weights),
        "generator_bias": list(generator.biases),
        "scale": cut(generator.scale_head),
        "shift": cut(generator.shift_head),
    }
    single = {
        "lift_weight": model.lift.weight,
        "lift_bias": model.lift.bias,
        "factor_head": generator.factor_head,
        "factor_offset": generator.factor_offset,
        "level": model.level,
        "amplitude": model.amplitude,
    }
    arrays = {f"{name}_{index}": array for name, many in numbered.items() for index, array in enumerate(many)}
    arrays |= {name: array for name, array in single.items() if array is not None}
    for number, group in enumerate(model.lift.groups):
        arrays |= {f"group_{number}_{name}": array for name, array in group.recipe.arrays.items()}
    return {name: np.asarray(array) for name, array in arrays.items()}


def _differences(model: Model, family: Family, files: Mapping[str, bytes]) -> dict[str, float]:
    """max |u_exported − u| / max |u| at random points and parameters, of each form as it will be read."""
    count = int(np.clip(CHUNK_NUMBERS // family.domain.coordinates, 4, PROBES))
    points, mu = jax.vmap(lambda key: sample_pair(family, key))(items(stream(0, Purpose.CHECK), count))
    named = dict(zip(family.parameters.names, mu.T, strict=True))
    live = np.asarray(at_points(value, model, family, *asked_points(family, points, named)), dtype=float)
    if not np.all(np.isfinite(live)):
        raise PrismError("the solution is not finite at points of its domain; nothing was written")
    with jax.enable_x64(True):
        wide_model, wide_family = in_double_precision((model, family))
        precise = np.asarray(at_points(value, wide_model, wide_family, *asked_points(wide_family, points, named)))
    relative = lambda error: float(np.max(np.abs(error)) / max(np.max(np.abs(live)), np.finfo(float).tiny))
    compiled = jax.export.deserialize(bytearray(files[STABLEHLO]))
    differences = {STABLEHLO: relative(compiled.call(points, mu)[0] - live), "rounding": relative(live - precise)}
    if FORWARD in files:
        forward = export_numpy.Solution(files[DESCRIPTION], files[WEIGHTS])
        with warnings.catch_warnings(action="ignore"):  # a tuned solution is compared over the whole box too
            differences[FORWARD] = relative(forward.u(points, **named) - precise)
    return differences


def _readme(model: Model, family: Family, with_numpy: bool) -> str:
    """How to use what lies in the directory."""
    space, coordinates = family.parameters, family.domain.coordinates
    bounds = ", ".join(f"{name} in [{low:g}, {high:g}]" for name, (low, high) in space.bounds().items())
    middle = ", ".join(f"{name}={value:.3g}" for name, value in zip(space.names, space.middle(), strict=True))
    dtype, names = model.lift.weight.dtype, ", ".join(space.names)
    text = f"""\
        # {type(family).__name__} in {coordinates:,} coordinates, {bounds}

        Exported by PRISM: u(x; μ) for any point x and any parameter μ.
        """
    if with_numpy:
        text += f"""
        With NumPy alone (`{FORWARD}`, `{DESCRIPTION}` and `{WEIGHTS}`, kept together):

            from solution import u
            u(points, {middle})     # points of shape (number, {coordinates}) or ({coordinates},)

        It warns where it is asked beyond what was trained; `outside(points, ...)` tells of which points, and
        `strict(points, ...)` refuses.
        """
    text += f"""
        With JAX and flatbuffers, on {" or ".join(PLATFORMS)} (`{STABLEHLO}`, whose weights are inside):

            import jax.export, pathlib
            call = jax.export.deserialize(bytearray(pathlib.Path("{STABLEHLO}").read_bytes())).call
            u, outside = call(points, mu)     # outside: which points or parameters lie beyond what was trained

        The points are {dtype} of shape (number, {coordinates}), mu of (number, {space.size}), for {names}.

        JAX promises to read a StableHLO file for six months; export the run again for later versions.
        """
    return textwrap.dedent(text)
