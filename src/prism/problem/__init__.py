"""WHAT is solved: domains, parameters, constraints, conditions, the family made of them and its checks."""
