"""Signatures for the reference: the fields of an `equinox.Module` are the arguments of its constructor.

Griffe, which reads the sources for mkdocstrings without importing them, knows this of dataclasses alone.
"""

from collections.abc import Iterator
from typing import Any

from griffe import Attribute, Class, Expr, ExprCall, ExprKeyword, Extension, Function, Module, Parameter, ParameterKind
from griffe import Parameters as Arguments

NO_ARGUMENTS = ("AbstractVar", "AbstractClassVar", "ClassVar")


class EquinoxModules(Extension):
    """Adds the constructors that equinox makes."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        constructors = {found: _constructor(found) for found in _classes(pkg) if _is_made_by_equinox(found)}
        for found, constructor in constructors.items():
            found.set_member("__init__", constructor)


def _constructor(found: Class) -> Function:
    arguments = {field.name: _argument(field) for one in _lineage(found) for field in _fields(one)}
    itself = Parameter("self", kind=ParameterKind.positional_or_keyword)
    return Function("__init__", parameters=Arguments(itself, *arguments.values()), parent=found)


def _classes(within: Module | Class) -> Iterator[Class]:
    for member in within.members.values():
        if isinstance(member, Module):
            yield from _classes(member)
        elif isinstance(member, Class):
            yield member


def _lineage(found: Class) -> list[Class]:
    return [*reversed(found.mro()), found]


def _is_made_by_equinox(found: Class) -> bool:
    """Whether it is a concrete module, and no constructor is written down for it."""
    abstract = any("abstractmethod" in member.labels for member in found.members.values())
    bases = [base for one in _lineage(found) for base in one.bases if isinstance(base, Expr)]
    is_module = any(base.canonical_path == "equinox.Module" for base in bases)
    return is_module and not abstract and not any("__init__" in one.members for one in _lineage(found))


def _fields(found: Class) -> list[Attribute]:
    """What is annotated, but for properties, variables of the class and what a subclass is to declare."""
    attributes = [member for member in found.members.values() if isinstance(member, Attribute)]
    annotated = [one for one in attributes if one.annotation is not None and "property" not in one.labels]
    return [one for one in annotated if not str(one.annotation).startswith(NO_ARGUMENTS)]


def _argument(field: Attribute) -> Parameter:
    """`radius: float = eqx.field(static=True, default=1.0)` is radius, 1.0 where it is not given."""
    default = field.value
    if isinstance(default, ExprCall) and default.canonical_path.endswith(".field"):
        options = {one.name: one.value for one in default.arguments if isinstance(one, ExprKeyword)}
        default = options.get("default")
    return Parameter(field.name, annotation=field.annotation, kind=ParameterKind.positional_or_keyword, default=default)
