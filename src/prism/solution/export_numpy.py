"""u(x; μ) of a solution exported by PRISM, with NumPy alone.

    from solution import u                  this file, beside weights.npz and solution.json
    u(points, mu1=0.7, mu2=1.2)             one point or a batch of them; each parameter a number or one per point
    outside(points, mu1=0.7, mu2=1.2)       of each point whether it is asked beyond what was trained: u warns of it,
    strict(points, mu1=0.7, mu2=1.2)        and this form of u refuses

    h = σ(γ(μ) ⊙ z + β(μ)),   z' = h W + b,   starting from z = x W + b,   N = level + amplitude · (z' + q(μ)·z_rest)

The weights are those that were trained; everything is computed in double precision.
"""

import functools
import hashlib
import io
import json
import warnings
from pathlib import Path

import numpy as np

FORMAT = 6
WEIGHTS, DESCRIPTION = "weights.npz", "solution.json"


def sigmoid(z: np.ndarray) -> np.ndarray:
    """1 / (1 + e⁻ᶻ), without overflow."""
    return np.exp(-np.logaddexp(0.0, -z))


ACTIVATIONS = {
    "Tanh": np.tanh,
    "Sin": np.sin,
    "Sigmoid": sigmoid,
    "Softplus": lambda z: np.logaddexp(z, 0.0),
    "Swish": lambda z: z * sigmoid(z),
    "Bump": lambda z: np.exp(-z * z / 2.0),
}

GROUP_ARRAYS = {
    "blocks": ("pattern", "weight", "bias"),
    "norm": ("diagonal", "neighbours"),
    "time": (),
    "quadratic": ("pairs", "squares", "products"),
    "sites": ("places", "first", "first_bias", "second", "second_bias", "coefficients"),
}


class Solution:
    """u(x; μ) from the contents of solution.json and weights.npz, refused where they are not what was exported."""

    def __init__(self, description: bytes, weights: bytes):
        try:
            content = json.loads(description)
            if content["format"] != FORMAT:
                raise ValueError(f"its format is {content['format']!r}, this file reads {FORMAT}")
            self.coordinates: int = content["coordinates"]
            self.names = tuple(content["parameters"])
            self.bounds = np.asarray([*content["parameters"].values()], dtype=float).T
            self.trained = np.asarray(content["trained"], dtype=float).T
            self.region: dict = content["region"]
            self.coordinate = np.log if content["logarithmic"] else np.asarray
            self.activation = ACTIVATIONS[content["activation"]]
            self.layers, self.generator_layers = content["layers"], content["generator_layers"]
            self.linear_lift: bool = content["linear_lift"]
            self.bent, self.read_out, self.groups = content["bent"], content["read_out"], content["groups"]
            self.radius: float | None = content["vanishing_radius"]
            self.power: int | None = content["vanishing_power"]
            expected = content["weights_sha256"]
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ValueError(f"{DESCRIPTION} is no exported solution ({type(error).__name__}: {error})") from error
        if hashlib.sha256(weights).hexdigest() != expected:
            raise ValueError(f"{WEIGHTS} is not what was exported (its SHA-256 differs); export it again")
        self.weights = _arrays(weights)

    def u(self, points, /, **parameters) -> np.ndarray:
        """u at one point (coordinates,) or at many (number, coordinates); a warning where that was not trained."""
        points, mu = self._asked(points, parameters)
        if np.any(self._outside(points, mu)):
            warnings.warn("u is asked beyond the parameters or points it was trained for", stacklevel=3)
        return self._values(points, mu)

    def strict(self, points, /, **parameters) -> np.ndarray:
        """The same, refused where that was not trained."""
        points, mu = self._asked(points, parameters)
        if np.any(self._outside(points, mu)):
            raise ValueError(f"trained for {self.names} in {self.trained.T.tolist()} and points in {self.region} alone")
        return self._values(points, mu)

    def outside(self, points, /, **parameters) -> np.ndarray:
        """Of each point whether it, or its μ, lies beyond what was trained."""
        points, mu = self._asked(points, parameters)
        return self._outside(points, mu).reshape(points.shape[:-1])

    def _outside(self, points: np.ndarray, mu: np.ndarray) -> np.ndarray:
        """The same for μ as (number, p); rounding counts as inside."""
        x, (low, high) = points.reshape(-1, self.coordinates), self.trained
        space = x if self.region["horizon"] is None else x[:, :-1]
        measured = {"norm": np.sqrt(np.sum(space * space, axis=1))[:, None], "side": space, "horizon": x[:, -1:]}
        beyond = np.any((mu < low) | (mu > high), axis=1) | ~np.isfinite(x).all(axis=1)
        for name, values in measured.items():
            bounds = self.region[name]
            if bounds is not None:
                first, last = np.asarray(bounds if name != "horizon" else (0.0, bounds), dtype=float)
                slack = 1e-5 * np.maximum(abs(first), abs(last))
                beyond = beyond | np.any((values < first - slack) | (values > last + slack), axis=1)
        return beyond

    def _values(self, points: np.ndarray, mu: np.ndarray) -> np.ndarray:
        return self._constrained(points.reshape(-1, self.coordinates), mu).reshape(points.shape[:-1])

    def _asked(self, points, parameters: dict) -> tuple[np.ndarray, np.ndarray]:
        """Points and μ as arrays, if they fit."""
        points = np.asarray(points, dtype=float)
        if points.ndim not in (1, 2) or points.shape[-1] != self.coordinates:
            raise ValueError(
                f"points of shape {points.shape} do not fit; give ({self.coordinates},) or (number, {self.coordinates})"
            )
        return points, self._parameters(points.shape[:-1], parameters)

    def _parameters(self, shape: tuple[int, ...], parameters: dict) -> np.ndarray:
        """μ as (number, p), or (1, p) where every point has the same."""
        missing = [name for name in self.names if name not in parameters]
        unknown = [name for name in parameters if name not in self.names]
        if missing or unknown:
            wrong = f"no value for {', '.join(missing)}" if missing else f"unknown {', '.join(unknown)}"
            raise ValueError(f"{wrong}; the parameters are {', '.join(self.names)}")
        sides = [np.asarray(parameters[name], dtype=float) for name in self.names]
        wrong = [name for name, side in zip(self.names, sides, strict=True) if side.shape not in ((), shape)]
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: give one number, or one for each of the {shape} points")
        return np.stack([side.reshape(-1) for side in np.broadcast_arrays(*sides)], axis=-1)

    def _constrained(self, x: np.ndarray, mu: np.ndarray) -> np.ndarray:
        """u = N, or (1 − |x|²/R²)ᵐ N where u vanishes on the sphere, clamped with m = 2."""
        network = self._network(x, self._embedding(mu))
        if self.radius is None:
            return network
        return (1.0 - np.sum(x * x, axis=1) / self.radius**2) ** self.power * network

    def _embedding(self, mu: np.ndarray) -> np.ndarray:
        """What the generator makes of μ, standardised in the coordinate in which its law is uniform."""
        low, high = self.coordinate(self.bounds)
        embedding = (self.coordinate(mu) - (low + high) / 2.0) * (12.0**0.5 / (high - low))
        for layer in range(self.generator_layers):
            weight, bias = self.weights[f"generator_weight_{layer}"], self.weights[f"generator_bias_{layer}"]
            embedding = np.tanh(embedding @ weight + bias)
        return embedding

    def _network(self, x: np.ndarray, embedding: np.ndarray) -> np.ndarray:
        """N(x; μ): lift, modulated layers, and the channels of the lift that skip them."""
        lifted = self._lifted(x, embedding)
        z = lifted[:, self.bent]
        for layer in range(self.layers):
            z = self._modulated(z, embedding, layer)
            h = z if self.linear_lift and layer == 0 else self.activation(z)
            z = h @ self.weights[f"weight_{layer}"] + self.weights[f"bias_{layer}"]
        q = self.weights.get("factor_offset", np.zeros(0))
        if "factor_head" in self.weights:
            q = q + embedding @ self.weights["factor_head"]
        network = z[:, 0] + np.sum(lifted[:, self.read_out] * q, axis=1)
        return self.weights["level"] + self.weights["amplitude"] * network

    def _modulated(self, z: np.ndarray, embedding: np.ndarray, layer: int) -> np.ndarray:
        """γ(μ) z + β(μ)."""
        if f"scale_{layer}" in self.weights:
            z = (1.0 + embedding @ self.weights[f"scale_{layer}"]) * z
        return z + embedding @ self.weights[f"shift_{layer}"] if f"shift_{layer}" in self.weights else z

    def _lifted(self, x: np.ndarray, embedding: np.ndarray) -> np.ndarray:
        """The linear channels x W + b, then those of every group."""
        channels, layer = [x @ self.weights["lift_weight"] + self.weights["lift_bias"]], self.layers
        for number, group in enumerate(self.groups):
            own = {name: self.weights[f"group_{number}_{name}"] for name in GROUP_ARRAYS[group["kind"]]}
            if group["kind"] == "norm":
                space = x[:, : group["dimension"]]
                squared = (space * space) @ own["diagonal"] + (space[:, :-1] * space[:, 1:]) @ own["neighbours"]
                epsilon = group["epsilon_of_logarithm"]
                norm = squared if epsilon is None else np.log(epsilon + squared)
                channels.append((norm[:, None] - group["mean"]) / group["spread"])
                continue
            if group["kind"] == "time":
                channels.append(group["scale"] * (x[:, -1:] - group["horizon"] / 2))
                continue
            if group["kind"] == "blocks":
                channels.append(self._pooled(x, group["dimension"], own) @ own["weight"] + own["bias"])
                continue
            if group["kind"] == "quadratic":
                offset = x[:, : group["dimension"]] - group["centre"]
                first, second = own["pairs"].astype(int).T
                products = (offset[:, first] * offset[:, second]) @ own["products"]
                channels.append(group["scale"] * (offset**2 @ own["squares"] + products))
                continue
            channels.append(self._sites(x, embedding, group, own, layer))
            layer += 2
        return np.concatenate(channels, axis=1)

    def _pooled(self, x: np.ndarray, space: int, own: dict) -> np.ndarray:
        """Σ_j w_j x_{iB+j} of every block, and time as it is."""
        size = len(own["pattern"])
        blocks = np.pad(x[:, :space], ((0, 0), (0, -space % size))).reshape(len(x), -1, size) @ own["pattern"]
        return np.concatenate([blocks, x[:, space:]], axis=1)

    def _sites(self, x: np.ndarray, embedding: np.ndarray, group: dict, own: dict, layer: int) -> np.ndarray:
        """Σ_i A_i · (φ(y_i; μ) − φ(0; μ)), one row of points after the other."""
        places = own["places"].astype(int)
        embedding = np.broadcast_to(embedding, (len(x), embedding.shape[1]))

        def features(y: np.ndarray, one: np.ndarray) -> np.ndarray:
            h = np.tanh(self._modulated(y @ own["first"] + own["first_bias"], one, layer))
            return np.sin(self._modulated(h @ own["second"] + own["second_bias"], one, layer + 1))

        rows = []
        for point, one in zip(x, embedding, strict=True):
            y = (point[places] - group["centre"]) / group["unit"]
            if group["horizon"] is not None:
                time = 2.0 * point[-1] / group["horizon"] - 1.0
                y = np.concatenate([y, np.full((len(y), 1), time)], axis=1)
            found = features(y, one) - features(np.zeros((1, y.shape[1])), one)
            rows.append(
                np.sum(
                    np.tensordot(found, own["coefficients"], 1)
                    if own["coefficients"].ndim == 2
                    else np.einsum("pf,pfc->pc", found, own["coefficients"]),
                    axis=0,
                )
            )
        return np.asarray(rows)


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of weights.npz in double precision; only real numbers are taken."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            found = dict(arrays.items())
    except Exception as error:  # whatever NumPy, zipfile and zlib raise at a file that was made to be wrong
        raise ValueError(f"{WEIGHTS} cannot be read ({type(error).__name__}); export it again") from error
    wrong = [name for name, array in found.items() if array.dtype.kind not in "fiu"]
    if wrong:
        raise ValueError(f"{WEIGHTS} holds {wrong[0]}, which is not made of real numbers; export it again")
    return {name: array.astype(float) for name, array in found.items()}


def read(directory: str | Path) -> Solution:
    """The solution exported to a directory."""
    files = [Path(directory) / name for name in (DESCRIPTION, WEIGHTS)]
    try:
        missing = [file.name for file in files if not file.is_file()]  # a FIFO would be waited for
        if missing:
            raise ValueError(f"{directory} holds no exported solution (no file {missing[0]})")
        return Solution(*[file.read_bytes() for file in files])
    except OSError as error:
        raise ValueError(f"{directory} holds no exported solution ({error.strerror}: {error.filename})") from error


@functools.cache
def beside() -> Solution:
    """The solution whose files lie beside this one, read once."""
    return read(Path(__file__).parent)


def u(points, /, **parameters) -> np.ndarray:
    """u(x; μ) at one point or at many: `u(points, mu1=0.7, mu2=1.2)`."""
    return beside().u(points, **parameters)


def outside(points, /, **parameters) -> np.ndarray:
    """Of each point whether it, or its μ, lies beyond what was trained."""
    return beside().outside(points, **parameters)


def strict(points, /, **parameters) -> np.ndarray:
    """u(x; μ), refused beyond what was trained."""
    return beside().strict(points, **parameters)
