"""Modules that not everyone needs, imported where they are used."""

import importlib
from typing import Any

from prism.errors import InputError


def extra_module(module: str, extra: str) -> Any:
    """A module of an optional extra; where it is missing, the error says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"{module} is not installed; get it with: pip install 'prism-pde[{extra}]'") from error
