"""The shapes that occur, named once."""

from jaxtyping import Array, Float, Int, PRNGKeyArray

Scalar = Float[Array, ""]
Point = Float[Array, "coordinates"]
Parameter = Float[Array, "parameters"]
Hidden = Float[Array, "width"]
Vector = Float[Array, "n"]
Indices = Int[Array, "n"]
Key = PRNGKeyArray

__all__ = ["Hidden", "Indices", "Key", "Parameter", "Point", "Scalar", "Vector"]
