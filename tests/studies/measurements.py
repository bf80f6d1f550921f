"""Synthetic measurements of every study, in the columns that `run` fills; no value is a constant of its module.

They are small, smooth and made up: they show that tables, findings and figures read the measurements alone.
"""

import itertools
from collections.abc import Callable

Measurements = list[dict]
SEEDS = (3, 4)


def estimators() -> Measurements:
    """`gram` and `exact` have no variance; `exact` stops at the first dimension."""
    noise = {"gram": 0.0, "gram:16": 3e-3, "coordinates:16": 1e-2, "rademacher:16": 4e-3, "exact": 0.0}
    return [
        {
            "d": d,
            "estimator": name,
            "deviation": deviation * (70 / d),
            "bias (standard errors)": 0.3,
            "seconds": 7.0,
            "seconds per step": 0.2 * (place + 1) * (d / 70) ** 0.2,
            "steps": 30 + place,
            "relative L2": 1e-3 * (place + 1),
            "skill": 0.1 * (place + 1) * (d / 70) ** (place / 4),
        }
        for d in (70, 700, 7_000)
        for place, (name, deviation) in enumerate(noise.items())
        if name != "exact" or d == 70
    ]


def structure() -> Measurements:
    lifts, problems = ("dense", "sites of two neighbours", "norm"), ("chain", "radial")
    return [
        {
            "d": d,
            "problem": problem,
            "lift": lift,
            "equation's": lift == {"chain": "sites of two neighbours", "radial": "norm"}[problem],
            "seed": seed,
            "seconds": 7.0,
            "steps": 30 - place,
            "relative L2": 1e-3 * (place + 1),
            "μ-blind": 4e-3,
            "trivial": 3e-2,
            "affine": 2e-2,
            "skill": 0.05 * (seed + 1) * 2.0**place,
        }
        for d, problem, (place, lift), seed in itertools.product((70, 700), problems, enumerate(lifts), SEEDS)
    ]


def blocks() -> Measurements:
    return [
        {
            "d": d,
            "lift": lift,
            "minutes": 3.0,
            "steps": 40 + place,
            "steps per second": 0.5 + place,
            "peak MB": 4000.0 - 900.0 * place,
            "relative L2": 1e-3 * (place + 1),
            "trivial": 5e-3,
            "μ-blind": 1e-4,
            "skill": 10.0 * (place + 1),
        }
        for d in (70, 700)
        for place, lift in enumerate(("blocks of 1", "blocks of 10", "affine"))
    ]


def parabolic() -> Measurements:
    known = {"trivial": 1e-3, "μ-blind": 4e-2, "reference": 1e-6}
    return [
        {
            "d": d,
            "equation": equation,
            "method": method,
            "relative L1": 1e-4 * 10.0**place,
            "seconds": 7.0,
            "steps": 300 + place,
            **({} if place else known),
        }
        for d in (70, 700)
        for equation in ("heat", "Allen-Cahn")
        for place, method in enumerate(("PRISM, all μ", "DeepBSDE, one μ"))
    ]


def hjb() -> Measurements:
    return [
        {
            "d": d,
            "terminal cost": cost,
            "training": training,
            "seconds": 7.0,
            "steps": 300 - place,
            "relative L2": 1e-5 * (place + 1),
            "μ-blind": 0.3,
            "skill": 1e-4,
            "trivial": 5e-4,
            "largest error": 1e-4 / (place + 1),
            "trivial, largest": 7e-4,
            "μ-blind, largest": 0.7,
        }
        for d in (70, 700)
        for cost in ("log", "Rosenbrock")
        for place, training in enumerate(("plain", "worst case"))
    ]


def solvers() -> Measurements:
    names = ("default", "no affine part", "coordinates:16", "adam, slopes along one direction in the loss")
    return [
        {
            "d": d,
            "solver": name,
            "seed": seed,
            "seconds": 7.0,
            "steps": 30 - place,
            "seconds per step": 0.2 + 0.01 * seed,
            "relative L2": 1e-3 * (place + 1),
            "μ-blind": 4e-3,
            "skill": 0.05 * seed * 2.0**place,
        }
        for d, (place, name), seed in itertools.product((70, 700), enumerate(names), SEEDS)
    ]


def _over_beta(group: str, names: tuple[str, ...], betas: tuple[float, ...]) -> Measurements:
    return [
        {
            group: name,
            "d": 7,
            "steps": 40,
            "seed": seed,
            "β": beta,
            "relative L2": 1e-4 * (1 + place) * (seed + beta + 1.0 / beta),
        }
        for (place, name), seed, beta in itertools.product(enumerate(names), SEEDS, betas)
    ]


def motivation() -> Measurements:
    """Retraining divides its steps among the β."""
    measured = _over_beta("method", ("PRISM", "concat", "retrain"), (0.3, 6.0))
    return [{**one, "steps": 20} if one["method"] == "retrain" else one for one in measured]


def sampling() -> Measurements:
    return _over_beta("law", ("uniform", "log-uniform"), (0.2, 0.9, 4.0))


def transfer() -> Measurements:
    measured = _over_beta("solver", ("PRISM", "fixed at 0.7"), (0.2, 0.7, 4.0))
    return [{**one, "box": [0.4, 5.0], "region": "outside" if one["β"] < 0.4 else "inside"} for one in measured]


def variance() -> Measurements:
    """Growth in powers of ten, none in the middle."""
    equations, modulations, positions = ("poisson", "reaction"), ("film", "shift"), (0.0, 0.5, 1.0, 2.0)
    return [
        {
            "equation": equation,
            "modulation": modulation,
            "d": 7,
            "steps": 40,
            "seed": seed,
            "position": position,
            "residual variance": 0.1 * growth * (position - 0.5),
            "gradient variance": 0.3 * growth * (position - 0.5) * seed / 4,
            "squared mean gradient": 0.2 * growth * (position - 0.5),
        }
        for equation, (growth, modulation), seed, position in itertools.product(
            equations, enumerate(modulations, 1), SEEDS, positions
        )
    ]


def decoupling() -> Measurements:
    """Rounds that are slow are slow for all."""
    costs = {"film": 1.1, "scale": 1.05, "shift": 1.04, "concat": 1.04, "none": 1.0}
    return [
        {
            "d": d,
            "modulation": name,
            "seconds per step in each round": [2e-3 * load * (cost + (cost - 1.0) * load) for load in (1.0, 3.0, 2.0)],
            "FLOP per step": 1e6 * d * cost,
            "compiled bytes": 1e7 * cost,
        }
        for d in (70, 700)
        for name, cost in costs.items()
    ]


def modulation() -> Measurements:
    return [
        {
            "modulation": name,
            "d": 7,
            "seed": seed,
            "steps": 40,
            "relative L2": 1e-3 * (place + seed),
            "μ-blind": 3e-2,
            "skill": 0.03 * (place + seed),
        }
        for (place, name), seed in itertools.product(enumerate(("film", "scale", "none")), SEEDS)
    ]


def trust() -> Measurements:
    """Each interval is held by two of three true errors."""
    return [
        {
            "problem": name,
            "d": 7,
            "seed": seed,
            "region": region,
            "mu": [0.3 * number, 1.0],
            "residual": 0.01 * number,
            "estimated": 1e-4 * number,
            "low": 0.5e-4 * number,
            "high": 2e-4 * number,
            "low from the box": 0.9e-4 * number,
            "high from the box": 1.05e-4 * number,
            "error": 1e-4 * number * (3.0 if number % 3 == 0 else 1.1),
        }
        for name, seed, region in itertools.product(
            ("sine-gordon", "reaction-diffusion"), (0, 1), ("inside", "near", "far")
        )
        for number in range(1, 7)
    ]


def inversion() -> Measurements:
    """All covered, most covered and few covered: the ends of the binomial intervals differ."""
    counts = {"noise estimated": 30, "noise given": 28, "noise given, model error": 25}
    return [
        {
            "family": family,
            "d": 7,
            "relative L2": 1e-3,
            "parameter": parameter,
            "assumed": assumed,
            "data sets": 30,
            "covered": covered,
            "not identifiable": 0,
            "width / value": 0.08,
            "blind sets": 9,
            "flagged": 9 if parameter == "nu" else 8,
        }
        for family, parameter in (
            ("sine-gordon-beta", "beta"),
            ("reaction-diffusion", "rho"),
            ("reaction-diffusion", "nu"),
        )
        for assumed, covered in counts.items()
    ]


def _stepped(labels: dict, cost: float, error: float) -> dict:
    """What a stepper of so many ms is measured to be; rounds that are slow are slow for all."""
    return {
        **labels,
        "seconds per step in each round": [1e-3 * cost * load for load in (1.0, 3.0, 2.0)],
        "compile seconds": 1.5 * cost,
        "FLOP per step": 1e6 * cost,
        "seconds": 7.0,
        "steps": int(7e3 / cost),
        "relative L2": error,
        "trivial": 0.9,
        "μ-blind": 0.2,
        "skill": error / 0.2,
    }


def high_order() -> Measurements:
    """One network goes without nested differentiation, as the default does. The errors cross."""
    measured: Measurements = []
    for power, equation in enumerate(("third", "fourth"), start=3):
        for place, network in enumerate(("narrow", "wide"), start=1):
            labels = {"equation": equation, "network": network}
            for way, factor in (("series", 1.0), ("nested reverse", float(power))):
                error = 1e-2 * factor ** (place - 1.5) / power
                measured.append(_stepped(labels | {"derivatives": way}, place * factor, error))
        labels = {"equation": equation, "network": "default", "derivatives": "series"}
        measured.append(_stepped(labels, 4.0, 1e-5 * power))
    return measured


def gpinn() -> Measurements:
    """Two problems at two dimensions, and one that has no more than its own."""
    cells = [("first", 70), ("second", 70), ("first", 700), ("second", 700), ("wave", 1)]
    return [
        _stepped(
            {"d": d, "equation": equation, "optimiser": optimiser, "loss": loss},
            cost * (d / 70) ** 0.2 * factor,
            1e-3 * cost * factor ** (place - 1.5),
        )
        for place, (equation, d) in enumerate(cells)
        for optimiser, cost in (("adam", 2.0), ("spring", 5.0))
        for loss, factor in (("residual", 1.0), ("residual and its gradient", 1.6))
    ]


def oscillator() -> Measurements:
    row = lambda d, coordinates, what, error: {
        "d": d,
        "coordinates": coordinates,
        "what": what,
        "steps": 300,
        "seconds": 7.0,
        "error of λ": error,
        "at the worst": 3.0 * error,
        "first excited": 2.0 * error if what == "shared network" else None,
        "mean field": 0.017,
        "μ-blind": 0.06,
        "skill": error / 0.06,
        "σ / λ": 1e-3,
        "peak MB": 900.0,
        "one μ, seconds": None,
    }
    modes = [
        row(d, "modes", what, 1e-7 * place)
        for d in (70, 700)
        for place, what in ((4, "shared network"), (900, "blind to μ"))
    ]
    plain = [
        row(100, "plain", f"{kind} of {p}", 0.017 / p**power)
        for kind, power in (("sum", 0.1), ("train", 4))
        for p in (2, 3)
    ]
    chain = {**row(50, "anharmonic", "train of 2", 6e-6), "mean field": None, "μ-blind": None, "skill": None}
    nothing = dict.fromkeys(modes[0])
    grid = {
        **nothing,
        "d": 700,
        "coordinates": "modes",
        "what": "grid (network: 0.1 s)",
        "error of λ": 1e-9,
        "one μ, seconds": 2.0,
    }
    return [*modes, *plain, chain, grid]


MEASUREMENTS: dict[str, Callable[[], Measurements]] = {
    "estimators": estimators,
    "solvers": solvers,
    "motivation": motivation,
    "sampling": sampling,
    "transfer": transfer,
    "variance": variance,
    "decoupling": decoupling,
    "modulation": modulation,
    "trust": trust,
    "inversion": inversion,
    "structure": structure,
    "blocks": blocks,
    "parabolic": parabolic,
    "hjb": hjb,
    "high-order": high_order,
    "gpinn": gpinn,
    "oscillator": oscillator,
}
