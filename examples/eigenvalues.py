"""The lowest eigenvalue of a chain of 50 anharmonic oscillators, for all parameters at once, beside a reference.

    python examples/eigenvalues.py

The chain is typed in as a new user would. Its levels have no formula; `prism.ground_level` computes one at a time by
matrix product states, without a network. Runs in about a minute.
"""

import prism


class Chain(prism.Potential):
    """−Δ + Σ (y_i² + a y_i⁴) − c Σ y_i y_(i+1)."""

    dimension: int
    parameters = prism.Uniform(a=(0.1, 0.5), c=(0.2, 0.6))

    def single(self, y, i, mu):
        return y**2 + mu.a * y**4

    @property
    def pairs(self):
        return (prism.Pair(left=lambda y, i, mu: -mu.c * y, right=lambda y, i, mu: y),)

    def half_width(self, i):
        return 4.5

    def reference(self, mu):
        return prism.ground_level(self, mu)


def main(minutes: float = 0.7, dimension: int = 50) -> None:
    chain = Chain(dimension=dimension)
    solution = prism.eigensolve(chain, minutes=minutes)
    print("   a     c         λ   reference   relative error   lower bound     ∂λ/∂c")
    for a, c in ((0.12, 0.3), (0.3, 0.4), (0.45, 0.58)):
        level = float(solution(a=a, c=c)[0])
        reference = prism.ground_level(chain, solution.named(a=a, c=c)).value
        bound, change = solution.trust(a=a, c=c).lower_bound, solution.derivative(a=a, c=c)["c"][0]
        error = (level - reference) / reference
        print(f"{a:4.2f}  {c:4.2f}  {level:8.4f}  {reference:10.4f}  {error:15.2e}  {bound:12.4f}  {change:8.4f}")


if __name__ == "__main__":
    main()
