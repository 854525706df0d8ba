"""Behaviour propensities: estimate them where they were not logged, check those that were, and repair those
that are wrong.
"""
