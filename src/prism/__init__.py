"""PRISM: one network for a whole family of high-dimensional PDEs.

`__init__.pyi` lists the public names in the order of the pipeline. Each is imported when it is first used, so that
`prism --help` does not wait for JAX.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
