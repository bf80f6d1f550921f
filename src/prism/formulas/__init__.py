"""Functions of one point that families are built on, accurate to rounding and differentiable: diffused initial states,
flows of a reaction, Cole-Hopf values."""
