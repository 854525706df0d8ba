"""Models learnt from the log: propensities, rewards, and policies cross-fitted on it."""
