"""The shapes that occur, named once; and a parameter μ under the names of its coordinates."""

from collections.abc import Mapping
from typing import Any

from jaxtyping import Array, Float, PRNGKeyArray
from jaxtyping import Key as KeysOf

from prism.errors import UnknownName

Scalar = Float[Array, ""]
Point = Float[Array, "coordinates"]
Parameter = Float[Array, "parameters"]
Hidden = Float[Array, "width"]
Vector = Float[Array, "n"]
Matrices = tuple[Float[Array, "_ _"], ...]
Vectors = tuple[Float[Array, "_"], ...]
Key = PRNGKeyArray
Keys = KeysOf[Array, "*batch"]

__all__ = ["Hidden", "Key", "Keys", "Matrices", "Named", "Parameter", "Point", "Scalar", "Vector", "Vectors"]


class Named:
    """The coordinates of one μ under their names, `mu.mu1`; or of many at once, an array under each name."""

    def __init__(self, values: Mapping[str, Any]):
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Scalar:
        raise UnknownName(f"mu.{name} does not exist; the parameters are {', '.join(self.__dict__)}")
