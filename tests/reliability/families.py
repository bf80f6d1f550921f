"""Families of one's own with one mistake each."""

from dataclasses import dataclass

import numpy as np
from reliability.cases import ANY, REFUSED, WORTHLESS, Case

GOOD = '''"""A family as a user writes it."""

import math

import jax
import jax.numpy as jnp
import numpy as np

import prism

KEPT = []


class Mine(prism.Family):
    """Δu + k u = f in the unit ball, u = 0 on its surface; u = k (1 − |x|²) solves it."""

    domain: prism.Ball
    parameters = prism.Uniform(k=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}

    def source(self, x, mu):
        return mu.k**2 * (1 - jnp.sum(x * x)) - 2 * mu.k * x.shape[0]

    def residual(self, u, x, mu):
        return u.lap + mu.k * u.value - self.source(x, mu)

    def constraint(self):
        return prism.vanishing(self.domain)

    def exact(self, x, mu):
        return mu.k * (1 - jnp.sum(x * x))
'''
SIZE = ("--dim", "3", "--width", "4", "--lift", "dense:4+affine:4", "--depth", "1", "--generator-width", "4")
RESIDUAL = "u.lap + mu.k * u.value - self.source(x, mu)"
EXACT = "mu.k * (1 - jnp.sum(x * x))\n"
SPACE = "prism.Uniform(k=(0.5, 1.5))"
TERMS = '{"lap": prism.Laplacian()}'
CONSTRAINT = "prism.vanishing(self.domain)"


@dataclass(frozen=True)
class Mistake:
    """What stands in place of a piece of the good family, and how that may end."""

    note: str
    old: str
    new: str
    codes: frozenset[int] = REFUSED

    def written(self) -> str:
        assert self.old in GOOD, self.old
        return GOOD.replace(self.old, self.new, 1)


def of_residual(note: str, formula: str, codes: frozenset[int] = REFUSED) -> Mistake:
    return Mistake(f"residual: {note}", RESIDUAL, formula, codes)


def of_space(declaration: str, codes: frozenset[int] = REFUSED) -> Mistake:
    return Mistake(f"parameters: {declaration}", SPACE, declaration, codes)


def of_exact(note: str, formula: str, codes: frozenset[int] = REFUSED) -> Mistake:
    return Mistake(f"exact solution: {note}", EXACT, f"{formula}\n", codes)


MISTAKES = (
    of_residual("an index beyond the dimension", f"{RESIDUAL} + x[7]"),
    of_residual("NaN in a corner of the box", f"{RESIDUAL} + 0 * jnp.log(mu.k - 0.51)", WORTHLESS),
    of_residual("NaN everywhere", f"{RESIDUAL} + jnp.nan"),
    of_residual("infinite", f"{RESIDUAL} / 0.0"),
    of_residual("randomness of NumPy", f"{RESIDUAL} + np.random.normal()"),
    of_residual("complex", f"{RESIDUAL} + 1j"),
    of_residual("Boolean", f"({RESIDUAL}) > 0"),
    of_residual("a vector", f"{RESIDUAL} + x"),
    of_residual("nothing", "None"),
    of_residual("text", "'zero'"),
    of_residual("a pair", f"({RESIDUAL}, 0.0)"),
    of_residual("an empty list", "[]"),
    of_residual("math.sin", f"{RESIDUAL} + math.sin(mu.k)"),
    of_residual("float()", f"{RESIDUAL} + float(mu.k)"),
    of_residual("a branch", f"({RESIDUAL}) if mu.k > 1 else u.lap"),
    of_residual("an escaped tracer", f"(KEPT.append(mu.k), KEPT[0] * u.lap + {RESIDUAL})[1]"),
    of_residual("an unknown term", f"{RESIDUAL} + u.bilap"),
    of_residual("an unknown parameter", f"{RESIDUAL} + mu.kappa"),
    of_residual("a parameter that is not used", "u.lap + u.value"),
    of_residual("a term that is not used", "mu.k * u.value"),
    of_residual("the source without μ", "u.lap + mu.k * u.value - self.source(x)"),
    of_residual("a division by zero", f"{RESIDUAL} + 1 // 0"),
    of_residual("itself", "self.residual(u, x, mu)"),
    of_residual("an error of several lines", "exec('raise ValueError(\"one\\\\ntwo\\\\nthree\")')"),
    of_residual("overflow", f"{RESIDUAL} * 1e38 * 1e38", WORTHLESS),
    of_residual("an end of the process", f"exit() or {RESIDUAL}"),
    of_space("prism.Uniform(k=1.0)"),
    of_space("prism.Uniform(k=(0.5, 1.0, 1.5))"),
    of_space("prism.Uniform(k=('low', 'high'))"),
    of_space("prism.Uniform(k=(1.5, 0.5))"),
    of_space("prism.Uniform(k=(1.0, 1.0))"),
    of_space("prism.Uniform(k=(1.0, 1.0 + 1e-12))"),
    of_space("prism.Uniform(k=(0.5, float('nan')))"),
    of_space("prism.Uniform(k=(0.5, float('inf')))"),
    of_space("prism.Uniform(k=(0.5, 1e300))"),
    of_space("prism.Uniform(k=(0.5, 10**400))"),
    of_space("prism.Uniform(k=None)"),
    of_space("prism.Uniform(k=(1j, 2j))"),
    of_space("prism.Uniform(k=(False, True))", ANY),
    of_space("prism.LogUniform(k=(0.0, 1.0))"),
    of_space("prism.LogUniform(k=(-1.0, 1.0))"),
    of_space("prism.Uniform()"),
    of_space("prism.Uniform(**{'k': (0.5, 1.5), 'a b': (0, 1)})"),
    of_space("prism.Uniform(**{'k': (0.5, 1.5), '': (0, 1)})"),
    of_space("{'k': (0.5, 1.5)}"),
    of_space("prism.Uniform"),
    of_space("prism.Uniform(**{'k': (0.5, 1.5), 'self': (0, 1)})"),
    of_space("prism.Uniform(**{'k': (0.5, 1.5), 'x': (0, 1)})"),
    of_space("prism.Uniform(**{'k': (0.5, 1.5), 'key': (0, 1)})"),
    of_exact("contradicts the equation", "mu.k * (1 - jnp.sum(x * x)) ** 2"),
    of_exact("contradicts the constraint", "mu.k * (2 - jnp.sum(x * x))"),
    of_exact("NaN", "mu.k * jnp.nan"),
    of_exact("a vector", "mu.k * x"),
    of_exact("nothing", "None"),
    of_exact("infinite in places", "mu.k * (1 - jnp.sum(x * x)) / (x[0] > 0)"),
    Mistake("terms: a list", TERMS, "[prism.Laplacian()]"),
    Mistake("terms: a class", TERMS, '{"lap": prism.Laplacian}'),
    Mistake("terms: called value", TERMS, '{"lap": prism.Laplacian(), "value": prism.Laplacian()}'),
    Mistake("terms: no name", TERMS, '{"lap": prism.Laplacian(), "a b": prism.Laplacian()}'),
    Mistake("terms: none", TERMS, "None"),
    Mistake("constraint: nothing", CONSTRAINT, "None"),
    Mistake("constraint: a number", CONSTRAINT, "1.0"),
    Mistake("constraint: of a vector", CONSTRAINT, "prism.HardConstraint(factor=lambda x, mu: x)"),
    Mistake("constraint: NaN", CONSTRAINT, "prism.HardConstraint(factor=lambda x, mu: jnp.nan * x[0])"),
    Mistake("constraint: raises", CONSTRAINT, "self.wall"),
    Mistake("domain: missing", "    domain: prism.Ball\n", ""),
    Mistake("domain: a number", "domain: prism.Ball", "domain: int"),
    Mistake("file: a syntax error", "import prism\n", "import prism prism\n"),
    Mistake("file: an unknown module", "import math\n", "import no_such_module\n"),
    Mistake("file: ends the process", "KEPT = []", "raise SystemExit(0)"),
    Mistake("file: interrupts", "KEPT = []", "raise KeyboardInterrupt", frozenset({2, 130})),
    Mistake("file: raises in several lines", "KEPT = []", 'raise ValueError("one\\ntwo\\nthree")'),
    Mistake("file: recursion", "KEPT = []", "f = lambda: f()\nf()"),
    Mistake("file: a zero byte", "KEPT = []", "KEPT = []\0"),
    Mistake("file: a surrogate", "KEPT = []", "raise ValueError('\\ud800')"),
    Mistake("file: nested deeply", "KEPT = []", "KEPT = " + "(" * 5000 + ")" * 5000),
    Mistake("name: a function of two", "class Mine", "def Mine(a, b): ...\n\n\nclass Other"),
    Mistake("name: makes nothing", "class Mine", "def Mine(d): ...\n\n\nclass Other"),
    Mistake("name: a number", "class Mine", "Mine = 7\n\n\nclass Other"),
    Mistake("name: another class", "class Mine", "class Mine: ...\n\n\nclass Other"),
    Mistake("name: not there", "class Mine", "class Other"),
    Mistake("nothing is wrong", "KEPT = []", "KEPT = ['']", frozenset({0})),
)


def draw(random: np.random.Generator) -> Case:
    """A call of solve, structure or reference with a family that has one mistake."""
    mistake = MISTAKES[random.integers(len(MISTAKES))]
    calls = (
        ("solve", "bad.py:Mine", *SIZE, "--points", "4", "--steps", "2", "--out", "out", "--json"),
        ("structure", "bad.py:Mine", "--dim", "3", "--out", "out", "--json"),
        ("reference", "bad.py:Mine", "--dim", "3", "--mu", "k=1", "--at", "x=0.1", "--json"),
    )
    call = calls[random.choice(3, p=(0.6, 0.2, 0.2))]
    text = mistake.written()
    return Case("own family", mistake.note, call, mistake.codes, lambda place: _write(place / "bad.py", text))


def _write(path, text: str) -> None:
    path.write_bytes(text.encode())
