"""The shapes that occur, named once."""

from jaxtyping import Array, Float, PRNGKeyArray
from jaxtyping import Key as KeysOf

Scalar = Float[Array, ""]
Point = Float[Array, "coordinates"]
Parameter = Float[Array, "parameters"]
Hidden = Float[Array, "width"]
Vector = Float[Array, "n"]
Matrices = tuple[Float[Array, "_ _"], ...]
Vectors = tuple[Float[Array, "_"], ...]
Key = PRNGKeyArray
Keys = KeysOf[Array, "*batch"]

__all__ = ["Hidden", "Key", "Keys", "Matrices", "Parameter", "Point", "Scalar", "Vector", "Vectors"]
