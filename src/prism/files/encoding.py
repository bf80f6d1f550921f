"""What PRISM writes as text: JSON that every reader of JSON takes."""

import json
import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real


def json_text(content: object, indent: int | None = None) -> str:
    """JSON without NaN and infinities, which no standard reader takes: null in their place."""
    return json.dumps(_standard(content), indent=indent, allow_nan=False)


def _standard(content: object) -> object:
    if isinstance(content, Mapping):
        return {name: _standard(value) for name, value in content.items()}
    if isinstance(content, Sequence) and not isinstance(content, str):
        return [_standard(value) for value in content]
    if isinstance(content, Real) and not isinstance(content, Integral):
        return float(content) if math.isfinite(content) else None
    return content
