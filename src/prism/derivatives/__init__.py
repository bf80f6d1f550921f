"""WHICH derivatives and HOW: operators, directions, estimators, Taylor jets."""
