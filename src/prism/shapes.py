"""The shapes that occur, named once."""

from jaxtyping import Array, Float, PRNGKeyArray

Scalar = Float[Array, ""]
Point = Float[Array, "coordinates"]
Parameter = Float[Array, "parameters"]
Hidden = Float[Array, "width"]
Vector = Float[Array, "n"]
Matrices = tuple[Float[Array, "_ _"], ...]
Vectors = tuple[Float[Array, "_"], ...]
Key = PRNGKeyArray

__all__ = ["Hidden", "Key", "Matrices", "Parameter", "Point", "Scalar", "Vector", "Vectors"]
