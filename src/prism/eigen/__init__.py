"""Lowest eigenvalues of H(μ) = −Δ + v(y; μ), trained for every μ at once. In reading order:

quadrature, network, forms      the functions of one coordinate, and how Ψ is made of them
integrals, separable, chain     ⟨Ψ, Ψ⟩ and ⟨Ψ, HΨ⟩, of a product, and of a sum or a train
objective, metric, natural      the energy that is lowered, its metric, the step
settings, solving               what is chosen, and `eigensolve`
levels, deviation, trust        λ, ∂λ/∂μ and Ψ; σ and bounds
eigensolution and the others    what is asked of it
"""
