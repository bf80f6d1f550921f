"""Arrays inside JSON: their bytes in base64, which a page reads without a parser of its own."""

import base64

import numpy as np


def packed(array: np.ndarray, double: bool = False) -> dict[str, object]:
    """Little-endian numbers of single precision, or double."""
    kind = "f8" if double else "f4"
    content = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return {"shape": list(np.shape(array)), "type": kind, "data": base64.b64encode(content).decode()}
