"""A call on a basket of five assets, for all σ and r of a box, by the way its kinked payoff is given.

    python benchmarks/basket.py --minutes 2

Log-prices y, u_t + ½σ²Δu + (r − ½σ²) Σ_i ∂_i u − ru = 0, u(y, 1) = max(z, 0) with z = mean(exp y) − 1, from public
names alone. The hard offset is the payoff as it is (`kinked`, which is named before training, here let pass), smoothed
by a constant width, or by the deviation that z still gets until t = 1; `WAYS` below. The reference is a quadrature:
over one direction of the diffusion in closed form, over the four others by Gauss and Hermite's rule; its uncertainty
is the difference of two rules. Errors are relative L2 over 200 points of the domain's law times 100 parameters, none of
them trained on. `N = 0` is the error of the offset alone, the trivial answer is the payoff, the μ-blind one the mean of
the reference over the parameters. Results are added to benchmarks/results/basket.json; `python benchmarks/tables.py`
makes the table of the documents from them.
"""

import argparse
import itertools
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr

import prism
from prism.files.storage import write_file

RESULTS = Path(__file__).parent / "results" / "basket.json"
ASSETS = 5
CONSTANT_WIDTH = 0.02
POINTS, PARAMETERS = 200, 100
NODES, FEWER_NODES = 6, 5
"""Of the quadrature, in each of four directions."""


def all_prices(x, mu):
    """(1, ..., 1, 0): along it Σ_i ∂_i u."""
    return jnp.ones_like(x).at[-1].set(0.0)


class Basket(prism.Family):
    """u_t + ½σ²Δu + (r − ½σ²) Σ_i ∂_i u − ru = 0, u(y, 1) = max(mean(exp y) − 1, 0)."""

    domain: prism.TimeCylinder
    parameters = prism.Uniform(sigma=(0.1, 0.4), r=(0.0, 0.1))
    terms = {"t": prism.TimeDerivative(), "lap": prism.Laplacian(), "drift": prism.Directional(all_prices)}

    def residual(self, u, x, mu):
        half = 0.5 * mu.sigma**2
        return u.t + half * u.lap + (mu.r - half) * u.drift - mu.r * u.value

    def offset(self, x, mu):
        return jnp.maximum(jnp.mean(jnp.exp(x[:-1])) - 1.0, 0.0)

    def factor(self, x, mu):
        return 1.0 - x[-1]

    def constraint(self):
        return prism.HardConstraint(factor=self.factor, offset=self.offset)


class Kinked(Basket):
    """The kink let pass."""

    def constraint(self):
        return prism.HardConstraint(factor=self.factor, offset=self.offset, allow_kinks=True)


class ConstantWidth(Basket):
    def offset(self, x, mu):
        return prism.smoothed(jnp.mean(jnp.exp(x[:-1])) - 1.0, CONSTANT_WIDTH)


class RemainingDiffusion(Basket):
    def offset(self, x, mu):
        assets = jnp.exp(x[:-1])
        slope = jnp.linalg.norm(assets) / ASSETS
        return prism.smoothed(jnp.mean(assets) - 1.0, mu.sigma * slope * jnp.sqrt(1.0 - x[-1]))


class Forward(Basket):
    """The same for the forward prices, to which the interest carries the assets."""

    def forward(self, x, mu):
        """z and its remaining deviation."""
        left = 1.0 - x[-1]
        assets = jnp.exp(x[:-1] + mu.r * left)
        return jnp.mean(assets) - 1.0, mu.sigma * jnp.linalg.norm(assets) / ASSETS * jnp.sqrt(left)

    def offset(self, x, mu):
        z, width = self.forward(x, mu)
        return jnp.exp(-mu.r * (1.0 - x[-1])) * prism.smoothed(z, width)


class CallTimesPut(Forward):
    """u = call·(1 + put·N): a network for what is uncertain, near the strike and before t = 1."""

    def factor(self, x, mu):
        z, width = self.forward(x, mu)
        return prism.smoothed(z, width) * prism.smoothed(-z, width)


WAYS = {
    "kinked": Kinked,
    "constant width": ConstantWidth,
    "remaining diffusion": RemainingDiffusion,
    "remaining diffusion of forward prices": Forward,
    "the same, factor call × put": CallTimesPut,
}


def reference(x: np.ndarray, sigma: np.ndarray, r: np.ndarray, nodes: int) -> np.ndarray:
    """u at points (y, t), rows, each under its own σ and r: e^{−rτ} E max(Σ_i a_i exp(bZ_i) − 1, 0), b = σ√τ.

    Z = cξ + Pη, c the unit vector along a, η normal in the four directions orthogonal to it. Σ_i a_i exp(bZ_i) grows
    with ξ and is 1 at one ξ*, found by Newton's steps; the mean over ξ is then a sum of normal distribution functions,
    and smooth in η.
    """
    left, values = 1.0 - x[:, -1], np.zeros(len(x))
    deviation = (sigma * np.sqrt(left))[:, None]
    a = np.exp(x[:, :-1] + ((r - 0.5 * sigma**2) * left)[:, None]) / ASSETS
    c = a / np.linalg.norm(a, axis=1, keepdims=True)
    identity = np.broadcast_to(np.eye(ASSETS)[:, 1:], (len(x), ASSETS, ASSETS - 1))
    across = np.linalg.qr(np.concatenate([c[:, :, None], identity], axis=2))[0][:, :, 1:]
    places, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    for which in itertools.product(range(nodes), repeat=ASSETS - 1):
        scales = a * np.exp(deviation * (across @ places[list(which)]))
        root = _root(scales, deviation * c)
        inside = np.sum(scales * np.exp(0.5 * (deviation * c) ** 2) * ndtr(deviation * c - root[:, None]), axis=1)
        values += np.prod(weights[list(which)]) * (inside - ndtr(-root))
    return np.exp(-r * left) * values


def _root(scales: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """ξ with Σ_i s_i exp(k_i ξ) = 1, by Newton's steps in the logarithm, which is convex and nearly straight."""
    place = np.zeros(len(scales))
    for _ in range(8):
        terms = scales * np.exp(rates * place[:, None])
        total = terms.sum(axis=1)
        place = place - np.log(total) * total / np.sum(rates * terms, axis=1)
    return place


def held_out(family: Basket) -> tuple[np.ndarray, np.ndarray]:
    """Points by the domain's law and parameters of the box, by a generator that no training uses."""
    draw, space = np.random.default_rng(2024), family.domain.space
    points = np.column_stack([space.spread * draw.standard_normal((POINTS, ASSETS)), draw.uniform(size=POINTS)])
    low, high = np.asarray(family.parameters.lows), np.asarray(family.parameters.highs)
    return points, low + (high - low) * draw.uniform(size=(PARAMETERS, 2))


def errors(solution: prism.Solution) -> dict[str, float]:
    """Over all pairs of held-out points and parameters."""
    family = solution.family
    points, parameters = held_out(family)
    x, mu = np.repeat(points, PARAMETERS, axis=0), np.tile(parameters, (POINTS, 1))
    exact, rough = (reference(x, *mu.T, nodes) for nodes in (NODES, FEWER_NODES))
    on_device = jnp.asarray(x, float), jnp.asarray(mu, float)
    found = np.asarray(solution(on_device[0], sigma=on_device[1][:, 0], r=on_device[1][:, 1]))
    blind = np.repeat(exact.reshape(POINTS, PARAMETERS).mean(axis=1), PARAMETERS)
    offset = jax.vmap(lambda at, under: family.offset(at, family.parameters.named(under)))
    payoff = np.maximum(np.exp(x[:, :-1]).mean(axis=1) - 1.0, 0.0)
    relative = lambda answer: float(np.linalg.norm(answer - exact) / np.linalg.norm(exact))
    size = float(np.sqrt(np.mean(exact**2)))
    return {
        "relative L2": relative(found),
        "at the worst": float(np.max(np.abs(found - exact))) / size,
        "N = 0": relative(np.asarray(jax.jit(offset)(*on_device))),
        "trivial": relative(payoff),
        "μ-blind": relative(blind),
        "skill": relative(found) / relative(blind),
        "prices below 0": float(np.mean(found < 0.0)),
        "lowest price": float(found.min()),
        "reference ±": relative(rough),
    }


def seconds_to_name(domain: prism.Domain) -> float:
    """Until the kink of the payoff is named."""
    begun = time.perf_counter()
    try:
        prism.solve(Basket(domain), minutes=1, progress=False)
    except prism.InputError as error:
        print(error)
        return time.perf_counter() - begun
    raise SystemExit("the kink of the payoff was not named")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--minutes", type=float, default=2.0, help="of `prism.solve`, for each")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    options = parser.parse_args()
    domain = prism.TimeCylinder(prism.WholeSpace(ASSETS, 0.3), 1.0)
    print(f"the kink was named after {seconds_to_name(domain):.1f} s")
    for way, seed in itertools.product(options.ways, options.seeds):
        solution = prism.solve(WAYS[way](domain), minutes=options.minutes, seed=seed)
        labels = {"offset": way, "minutes": options.minutes, "seed": seed}
        row = {**labels, **errors(solution)}
        print(json.dumps(row), flush=True)
        rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
        rows = [*(other for other in rows if any(other[name] != labels[name] for name in labels)), row]
        rows.sort(key=lambda one: (one["minutes"], list(WAYS).index(one["offset"]), one["seed"]))
        write_file(RESULTS, (json.dumps(rows, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
