"""The network: Lift -> Manifold modulated by HyperGenerator(μ)."""
