"""What a family declares: domain, parameters, terms, conditions, constraint and the arguments of its methods."""

import keyword
from collections.abc import Mapping

from prism.derivatives.operators import Operator
from prism.errors import InputError
from prism.numerics.arguments import check_function, shown
from prism.problem.conditions import Condition
from prism.problem.constraints import Constraint
from prism.problem.domains import Domain
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.problem.user_code import calling

DECLARED = (
    ("domain", Domain, "domain: prism.Ball, and MyFamily(prism.Ball(100))"),
    ("parameters", ParameterSpace, "parameters = prism.Uniform(mu1=(0.5, 1.5))"),
    ("terms", Mapping, 'terms = {"lap": prism.Laplacian()}'),
    ("conditions", Mapping, 'conditions = {"boundary": prism.Prescribed(prism.Sphere(100), value)}'),
)
METHODS = {
    "residual": ("u", "x", "mu"),
    "source": ("x", "mu"),
    "exact": ("x", "mu"),
    "affine": ("x", "mu"),
    "background": ("x", "mu"),
    "rate": ("mu",),
    "constraint": (),
}
"""The arguments of each method after self."""


def check_declarations(family: Family) -> None:
    """Raise an InputError that names what a family does not declare, or declares wrongly. Nothing is traced."""
    for attribute, kind, example in DECLARED:
        with calling(f"{attribute} of {name_of(family)}"):
            declared = getattr(family, attribute, None)
        if not isinstance(declared, kind):
            raise InputError(f"{name_of(family)} has no valid {attribute}; declare it: {example}")
    _check_terms(family)
    _check_methods(family)
    for name, condition in family.conditions.items():
        if not isinstance(condition, Condition):
            raise InputError(
                f'{name_of(family)}: conditions["{name}"] is {shown(condition)}; give a condition, such as '
                "prism.Prescribed(domain, value)"
            )
    with calling(f"constraint of {name_of(family)}"):
        constraint = family.constraint()
    if not isinstance(constraint, Constraint):
        raise InputError(
            f"{name_of(family)}: constraint() must return a constraint, such as prism.vanishing(domain), not "
            f"{shown(constraint)}"
        )


def _check_terms(family: Family) -> None:
    if not family.terms:
        raise InputError(
            f"{name_of(family)} declares no terms, so its equation has no derivative of u; declare those that residual "
            'reads: terms = {"lap": prism.Laplacian()}'
        )
    for name, operator in family.terms.items():
        if not isinstance(operator, Operator):
            raise InputError(
                f'{name_of(family)}: terms["{name}"] is {shown(operator)}; give an operator, prism.Laplacian()'
            )
        if not isinstance(name, str) or not is_attribute(name) or name == "value":
            raise InputError(f'{name_of(family)}: a term cannot be called "{name}"; give a name to read as u.name')


def _check_methods(family: Family) -> None:
    """Each method takes what it will be given."""
    for method, arguments in METHODS.items():
        if hasattr(family, method):
            form = f"def {method}({', '.join(('self', *arguments))})"
            check_function(f"{method} of {name_of(family)}", getattr(family, method), arguments, form)


def is_attribute(name: str) -> bool:
    """Whether a name can be read as `u.name`, and is none of Python's own."""
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")


def name_of(family: Family) -> str:
    """For a message."""
    return type(family).__name__
