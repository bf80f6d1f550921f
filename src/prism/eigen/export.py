"""Levels to take along, without PRISM: for NumPy as a table over the trained box, and as StableHLO with Ψ.

    levels.py, levels.npz     λ(μ) and ∂λ/∂μ by Chebyshev's polynomials, with NumPy alone
    levels.stablehlo          μ ↦ λ, any μ, by the network and its quadrature
    wave.stablehlo            (points, μ) ↦ sign Ψ and log |Ψ| of the lowest level

All compute in double precision, are compared with the live solution before anything is written, and written whole or
not at all.
"""

import hashlib
import io
import shutil
from functools import partial
from pathlib import Path

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.eigen import export_numpy
from prism.eigen.inversion import LevelTable
from prism.eigen.levels import levels, log_wave
from prism.eigen.network import TensorNetwork
from prism.eigen.precise import NODES, held_out, levels_at
from prism.eigen.quadrature import BLOCK, gauss
from prism.errors import PrismError
from prism.files import outputs, storage
from prism.files.encoding import json_text
from prism.files.reading import read_bytes
from prism.numerics.keys import Purpose, stream
from prism.numerics.precision import in_double_precision
from prism.problem.potential import Potential
from prism.shapes import Parameter

LEVELS, WAVE, FORWARD, README = "levels.stablehlo", "wave.stablehlo", "levels.py", "README.md"
TABLE = export_numpy.TABLE
FILES = {LEVELS, WAVE, FORWARD, TABLE, README, storage.MANIFEST}
PLATFORMS = ("cpu", "cuda")
TOLERANCE = 1e-6
"""Relative to the level."""
PROBES = 8


def export(
    network: TensorNetwork, potential: Potential, count: int, path: Path, force: bool = False
) -> dict[str, object]:
    """Write all forms to a directory; returns how far each is from the live solution, relative to its level."""
    check_place(path, force)
    files = {
        LEVELS: _exported(partial(_levels, count=count), network, potential, points=False),
        WAVE: _exported(_wave, network, potential, points=True),
        TABLE: _table(network, potential, count),
        FORWARD: read_bytes(Path(export_numpy.__file__)),
    }
    mus = np.asarray(held_out(potential, stream(0, Purpose.CHECK), PROBES), np.float64)
    live = levels_at(network, potential, mus, count)
    table = export_numpy.Levels(files[TABLE])
    names = potential.parameters.names
    told = np.stack([table.levels(**dict(zip(names, mu, strict=True))) for mu in mus])
    with jax.enable_x64(True):
        called = jax.export.deserialize(bytearray(files[LEVELS])).call
        lowered = np.stack([np.asarray(called(jnp.asarray(mu))) for mu in mus])
    differences = {
        "stablehlo_difference": float(np.max(np.abs(lowered - live) / np.abs(live))),
        "numpy_difference": float(np.max(np.abs(told - live) / np.abs(live))),
    }
    for name, size in differences.items():
        if not size <= TOLERANCE:
            raise PrismError(f"{name} is {size:.1e} of the level; nothing was written")
    files[README] = _readme(potential, count).encode()
    shutil.rmtree(path / "__pycache__", ignore_errors=True)
    storage.write_directory(path, files)
    return {
        "family": type(potential).__name__,
        "out": str(path),
        "platforms": list(PLATFORMS),
        **differences,
        "tolerance": TOLERANCE,
        "bytes": {name: len(content) for name, content in files.items()},
    }


def check_place(path: Path, force: bool) -> None:
    """Refuse a path in use; when forced, an earlier export may be replaced, and nothing else."""
    outputs.check_export(path, force, FILES, FORWARD)


def _levels(network: TensorNetwork, potential: Potential, mu: Parameter, count: int) -> Float[Array, "levels"]:
    return levels(network, potential, mu, count, gauss(NODES), BLOCK)


def _wave(
    network: TensorNetwork, potential: Potential, points: Float[Array, "n d"], mu: Parameter
) -> tuple[Float[Array, "n"], Float[Array, "n"]]:
    return jax.vmap(lambda y: log_wave(network, potential, mu, y, 0, gauss(NODES), BLOCK))(points)


def _exported(function, network: TensorNetwork, potential: Potential, points: bool) -> bytes:
    """A function of μ, or of any number of points and μ, its weights constants, for every platform of `PLATFORMS`."""
    with jax.enable_x64(True):
        held = in_double_precision((network, potential))
        mu = jax.ShapeDtypeStruct((potential.parameters.size,), jnp.float64)
        arguments = [mu]
        if points:
            (batch,) = jax.export.symbolic_shape("batch")
            arguments = [jax.ShapeDtypeStruct((batch, potential.dimension), jnp.float64), mu]
        lowered = jax.export.export(jax.jit(lambda *asked: function(*held, *asked)), platforms=PLATFORMS)
        return bytes(lowered(*arguments).serialize())


def _table(network: TensorNetwork, potential: Potential, count: int) -> bytes:
    """levels.npz"""
    space, table = potential.parameters, LevelTable.of(network, potential, count)
    coefficients = np.ascontiguousarray(table.coefficients)
    told = {
        "format": export_numpy.FORMAT,
        "parameters": space.bounds(),
        "logarithmic": space.logarithmic,
        "sha256": hashlib.sha256(coefficients.tobytes()).hexdigest(),
    }
    buffer = io.BytesIO()
    np.savez(buffer, coefficients=coefficients, description=np.frombuffer(json_text(told).encode(), np.uint8))
    return buffer.getvalue()


def _readme(potential: Potential, count: int) -> str:
    names = potential.parameters.names
    named = ", ".join(
        f"{name}={float(value):.3g}" for name, value in zip(names, potential.parameters.middle(), strict=True)
    )
    several = "the lowest level" if count == 1 else f"the lowest {count} levels"
    return f"""# {type(potential).__name__} in {potential.dimension:,} dimensions: {several}

With NumPy alone, inside the trained box of the parameters:

    from levels import levels, derivatives
    levels({named})            # λ from below
    derivatives({named})       # ∂λ/∂μ, by the name of each parameter

With JAX, for any parameters, and the wave function (log |Ψ|, for Ψ itself has no number in many dimensions):

    import jax, jax.export
    jax.config.update("jax_enable_x64", True)
    read = lambda name: jax.export.deserialize(bytearray(open(name, "rb").read())).call
    read("{LEVELS}")(jax.numpy.asarray([...]))                    # ({", ".join(names)}) -> levels
    sign, log = read("{WAVE}")(points, jax.numpy.asarray([...]))   # points: (n, {potential.dimension})
"""
