"""Policies: what a target is, and the probabilities it gives to actions."""
