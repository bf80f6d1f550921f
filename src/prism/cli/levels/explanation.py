"""`prism list POTENTIAL`: one potential explained, from what its object and its class say of themselves."""

from collections.abc import Iterator

from prism.cli.explanation import law_of
from prism.cli.levels.options import POTENTIALS, own_potential
from prism.cli.own_families import is_own, load_own
from prism.problem.docstrings import docstring
from prism.problem.potential import Potential

DIMENSION = 100
"""Of the commands that are shown."""


def named_potential(text: str) -> Potential:
    """A potential to explain, of the catalogue or the user's own."""
    if not is_own(text):
        return POTENTIALS[text].create(DIMENSION)  # pyright: ignore[reportAttributeAccessIssue]
    own = load_own(text)
    return own_potential(own, own.dimension or DIMENSION)


def explain_potential(name: str, potential: Potential) -> dict[str, object]:
    """Everything that is known of it before it is solved."""
    equation, remarks = docstring(type(potential))
    space = potential.parameters
    middle = " ".join(f"{one}={float(value):.3g}" for one, value in zip(space.names, space.middle(), strict=True))
    known = potential.has_exact or potential.has_reference
    return {
        "family": name,
        "equation": equation,
        "remarks": remarks,
        "parameters": {
            parameter: {"low": low, "high": high, "law": law_of(space)}
            for parameter, (low, high) in space.bounds().items()
        },
        "interacting_pairs": len(potential.pairs),
        "exact_levels": potential.has_exact,
        "reference": potential.has_reference,
        "solve_command": f"prism solve {name} --dim {potential.dimension} --minutes 1",
        "reference_command": f"prism reference {name} --dim {potential.dimension} --mu {middle}" if known else None,
    }


def told_of_potential(explained: dict) -> Iterator[str]:
    """The same for a reader."""
    yield f"potential    {explained['equation']}"
    if explained["remarks"]:
        yield f"             {explained['remarks']}"
    for name, side in explained["parameters"].items():
        yield f"parameter    {name} in [{side['low']:g}, {side['high']:g}], {side['law']}"
    pairs = explained["interacting_pairs"]
    yield f"coordinates  {'interact in pairs' if pairs else 'do not interact: a product is exact'}"
    yield f"levels       {'known exactly' if explained['exact_levels'] else 'not known by a formula'}"
    yield f"solve        {explained['solve_command']}"
    if explained["reference_command"]:
        yield f"reference    {explained['reference_command']}"
