"""What a class says of itself in its docstring."""

import inspect

NO_EQUATION = "not told: give the class a docstring that opens with its equation"


def docstring(kind: type) -> tuple[str, str | None]:
    """The first paragraph of a class's docstring, which is the equation with its conditions, and the others."""
    text = inspect.cleandoc(kind.__doc__ or "")
    if not text or text.startswith(f"{kind.__name__}("):  # the signature, which a dataclass writes where there is none
        return NO_EQUATION, None
    first, *others = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return first, "\n".join(others) or None
