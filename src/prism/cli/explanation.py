"""`prism list FAMILY`: one family explained, from what its object and its class say of themselves."""

import inspect
from collections.abc import Iterator

from prism.cli.names import SPACES
from prism.families import solitons, two_body
from prism.problem.docstrings import docstring
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace


def explain(name: str, family: Family, dimension: int | None) -> dict[str, object]:
    """Everything that is known of a family before it is solved; `name` and `dimension` are those of the commands."""
    chosen = name if dimension is None else f"{name} --dim {dimension}"
    equation, remarks = docstring(type(family))
    known = family.has_exact or family.has_reference
    return {
        "family": name,
        "equation": equation,
        "remarks": remarks,
        "parameters": {
            parameter: {"low": low, "high": high, "law": law_of(family.parameters)}
            for parameter, (low, high) in family.parameters.bounds().items()
        },
        "domain": family.domain.description,
        "time_horizon": family.domain.time_horizon,
        "built_in_conditions": family.constraint().binding,
        "soft_conditions": list(family.conditions),
        "exact_solution": family.has_exact,
        "exact_formula": method_docstring(family, "exact") if family.has_exact else None,
        "reference": family.has_reference,
        "known_at_some_points": family.has_known_values,
        "variants": variants(type(family)),
        "solve_command": f"prism solve {chosen} --minutes 1",
        "reference_command": f"prism reference {chosen} {query(family)}" if known else None,
    }


def method_docstring(family: Family, name: str) -> str | None:
    """That of the class's own method, not of the one it replaces."""
    text = getattr(type(family), name).__doc__
    return " ".join(text.split()) if text else None


def law_of(space: ParameterSpace) -> str:
    """The law of parameters as it is typed; of a user's own, the name of its class."""
    return next((name for name, kind in SPACES.items() if type(space) is kind), type(space).__name__)


def variants(kind: type[Family]) -> dict[str, str]:
    """The options by which the family comes in other forms: what its `create` takes of them."""
    create = getattr(kind, "create", None)
    taken = inspect.signature(create).parameters if create else ()
    every = two_body.VARIANTS | solitons.VARIANTS
    return {f"--{name}": meaning for name, meaning in every.items() if name in taken}


def query(family: Family) -> str:
    """A point and a μ to ask at: the middle of the domain and of the box."""
    space, centre = family.parameters, family.domain.centre()
    mu = " ".join(f"{name}={float(value):.3g}" for name, value in zip(space.names, space.middle(), strict=True))
    time = "" if family.domain.time_horizon is None else f",t={float(centre[-1]):g}"
    return f"--mu {mu} --at x={float(centre[0]):g}{time}"


def told(explained: dict) -> Iterator[str]:
    """The same for a reader."""
    for title, lines in _sections(explained).items():
        for number, line in enumerate(lines):
            yield f"{title if number == 0 else '':12} {line}"


def _sections(explained: dict) -> dict[str, list[str]]:
    sides = explained["parameters"].items()
    known = {
        f"exactly{f': {formula}' if (formula := explained['exact_formula']) else ''}": explained["exact_solution"],
        "at any point, by a computation without a network that tells its uncertainty": explained["reference"],
        "at some points, where the errors of a run are measured": explained["known_at_some_points"],
    }
    conditions = ["built into every candidate by its form"] if explained["built_in_conditions"] else []
    if explained["soft_conditions"]:
        conditions.append(f"asked for in the loss: {', '.join(explained['soft_conditions'])}")
    commands = [explained["reference_command"]] if explained["reference_command"] else []
    return {
        "family": [explained["family"]],
        "equation": [explained["equation"], *(explained["remarks"] or "").splitlines()],
        "parameters": [f"{name} in [{one['low']:g}, {one['high']:g}], {one['law']}" for name, one in sides],
        "domain": [explained["domain"]],
        "conditions": conditions or ["none"],
        "known u": [words for words, is_so in known.items() if is_so] or ["nowhere"],
        "variants": [f"{option}: {meaning}" for option, meaning in explained["variants"].items()] or ["none"],
        "commands": [explained["solve_command"], *commands],
    }
