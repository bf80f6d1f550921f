"""Arrays inside JSON: their bytes in base64, which a page reads without a parser of its own."""

import base64

import numpy as np


def packed(array: np.ndarray) -> dict[str, object]:
    """Little-endian numbers, in the precision that they have."""
    kind = "f4" if array.dtype == np.float32 else "f8"
    content = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return {"shape": list(np.shape(array)), "type": kind, "data": base64.b64encode(content).decode()}
