"""Looks for the paper's claims in results: each function answers one claim with a verdict and the numbers behind it."""

from kwis.paper.findings.record import Finding

__all__ = ["Finding"]
