"""Lifts as they are typed:  dense:256+affine:4+sites:2:features=8:shared."""

import math
from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import fields

from prism.cli.numbers import real_number, repeated, whole_number
from prism.errors import InputError
from prism.networks.lifts.parts import Affine, Blocks, Dense, Local, Norm, Part, Parts, Places, Quadratic, Sites, Time
from prism.problem.family import Family
from prism.problem.structure import Kind, find_structure
from prism.solving.lift_choice import AFFINE_BEYOND, SITES_UP_TO, groups_of
from prism.solving.symmetry import norm_of

LIFTS = {
    "dense:H": "H channels z = x W + b",
    "affine:K": "K channels z = x W + b that skip the nonlinearity: the slope b(μ)·x",
    "blocks:B:H": "H channels z = x W + b whose matrix is shared by blocks of B coordinates",
    "norm": "|x|²",
    "norm:logarithmic": "log(ε + |x|²), for what changes near the origin",
    "norm:own": "the quadratic forms that the family is written in, where it names them",
    "time": "t, beside parts that do not see time, as norm+time",
    "sites:W": "sums of a small network over windows of W neighbours, each place with coefficients of its own",
    "sites:W:shared": "the same coefficients everywhere: translation-invariant, or exchangeable for sites:1:shared",
    "sites:W:found": "over the groups of coordinates that interact in the equation (see `prism structure`)",
    "quadratic:W": "quadratic forms of neighbours in windows of W (or :found): curvature beside affine:K, in thousands "
    "of dimensions",
    "auto": f"the equation's lift (sites up to {SITES_UP_TO:,} dimensions, quadratic forms), the usual one, "
    f"neighbours, affine alone beyond {AFFINE_BEYOND:,} dimensions, each tried; the best goes on",
}
AUTO, OWN_NORMS = "auto", "norm:own"
NAMES: dict[str, tuple[type[Part], tuple[str, ...]]] = {
    "dense": (Dense, ("width",)),
    "affine": (Affine, ("channels",)),
    "blocks": (Blocks, ("size", "width")),
    "norm": (Norm, ()),
    "time": (Time, ()),
    "quadratic": (Quadratic, ("window",)),
    "sites": (Sites, ("window",)),
}
"""Each part's name, and what the numbers behind it are."""
FLAGS = ("shared", "periodic", "bent", "logarithmic")
FOUND = "found"
FLOATS = ("bias", "clocks")
INTEGERS = ("features", "channels", "hidden")


def parse_lift(text: str, default: Parts, family: Family, seed: int) -> Parts:
    """The parts, with the groups of those that are to be found in the equation.

    A dense part starts as that of the default lift does, where nothing else is said.
    """
    parts: list[Part] = []
    pieces, text = text.split("+"), repeated(text)
    for piece in pieces:
        name, *rest = piece.split(":")
        if piece == OWN_NORMS:
            parts += own_norms(text, family)
            continue
        if name not in NAMES:
            raise InputError(f"--lift {text}: unknown part {repeated(name)!r}; choose {', '.join(NAMES)}, joined by +")
        part = _parse_part(text, piece, name, [word for word in rest if word != FOUND], default)
        if FOUND in rest:
            if not isinstance(part, Local):
                raise InputError(
                    f"--lift {text}: only sites and quadratic parts have groups to be found; write sites:2:found or "
                    "quadratic:2:found"
                )
            part = part.with_groups(found_groups(text, part, family, seed))
        parts.append(part)
    return Parts(tuple(parts))


def own_norms(text: str, family: Family) -> list[Part]:
    """The norms that the family names."""
    if not family.norms:
        raise InputError(f"--lift {text}: this family names no norms of its own; write norm for |x|²")
    return [norm_of(form) for form in family.norms]


def found_groups(text: str, part: Local, family: Family, seed: int) -> Places:
    """The pairs of coordinates that interact in the equation."""
    if part.window != 2:
        raise InputError(f"--lift {text}: pairs are what is found in an equation; give a window of 2, as sites:2:found")
    structure = find_structure(family, seed)
    if structure.kind not in (Kind.PAIRS, Kind.CHAIN) or structure.probed < structure.dimension:
        raise InputError(
            f"--lift {text}: no pairs to take, for {structure.describe()[0]} ({structure.describe()[1]}); "
            "see `prism structure`"
        )
    return groups_of(structure)


def _parse_part(text: str, piece: str, name: str, words: list[str], default: Parts) -> Part:
    kind, numbers = NAMES[name]
    given: dict[str, object] = {}
    if kind is Dense and (usual := default.of_kind(Dense)):
        given = {"bias": usual[0].bias, "clocks": usual[0].clocks}
    known = {field.name for field in fields(kind)}  # pyright: ignore[reportArgumentType]
    seen: set[str] = set()
    for place, word in enumerate(words):
        key, equals, value = word.partition("=")
        if not equals and place < len(numbers):
            key, value = numbers[place], word
        if key in seen:
            raise InputError(f"--lift {text}: {name} has {key} twice; give it once")
        seen.add(key)
        if key in FLAGS and not equals and key in known:
            given[key] = True
        elif key in known and key in (*INTEGERS, *numbers) and value.isdecimal():
            given[key] = _number(text, value, whole_number)
        elif key in known and key in FLOATS:
            given[key] = _number(text, value, real_number)
        else:
            where = f"{repeated(piece)!r} has {repeated(word)!r}"
            raise InputError(f"--lift {text}: {where}, which means nothing there; see `prism list`")
    if not all(number in given for number in numbers):
        needed = "a number" if len(numbers) == 1 else "two numbers"
        raise InputError(f"--lift {text}: {name} needs {needed}, such as {_example(name)}")
    return kind(**given)  # pyright: ignore[reportCallIssue, reportArgumentType]


def _number(text: str, value: str, read: Callable[[str], int | float]) -> int | float:
    try:
        number = read(value)
    except ArgumentTypeError as error:
        raise InputError(f"--lift {text}: {error}") from None
    if not math.isfinite(number):
        raise InputError(f"--lift {text}: {repeated(value)!r} is no number")
    return number


def _example(name: str) -> str:
    return {
        "dense": "dense:256",
        "affine": "affine:4",
        "blocks": "blocks:100:64",
        "quadratic": "quadratic:2",
        "sites": "sites:2",
    }[name]


def lift_text(parts: Parts) -> str:
    """How a lift is typed, everything said; groups are written as found, norms with weights as the family's own."""
    pieces = [_part_text(part) for part in parts.parts]
    repeated = [piece == before == OWN_NORMS for before, piece in zip(["", *pieces], pieces, strict=False)]
    return "+".join(piece for piece, again in zip(pieces, repeated, strict=True) if not again)


def _part_text(part: Part) -> str:
    if isinstance(part, Norm) and part.weights is not None:
        return OWN_NORMS
    name, numbers = next((name, numbers) for name, (kind, numbers) in NAMES.items() if type(part) is kind)
    words = [name, *[str(getattr(part, number)) for number in numbers]]
    known = {field.name: field.default for field in fields(part)}  # pyright: ignore[reportArgumentType]
    for key in (*INTEGERS, *FLOATS):
        if key in known and key not in numbers and getattr(part, key) != known[key]:
            words.append(f"{key}={getattr(part, key)}")
    words += [key for key in FLAGS if getattr(part, key, False)]
    return ":".join([*words, *([FOUND] if getattr(part, "groups", None) else [])])
