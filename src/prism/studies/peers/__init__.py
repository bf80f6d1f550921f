"""Published solvers of one semilinear parabolic equation at a time, to be trained again for every μ."""
