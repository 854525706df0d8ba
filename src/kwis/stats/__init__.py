"""Arithmetic that knows nothing of logs: exact sums, folds, influence."""
