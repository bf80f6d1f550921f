"""Arithmetic that knows nothing of equations: keys and draws, elementary functions, chunks, staging, least squares."""
