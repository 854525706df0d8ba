"""Looks for the paper's claims in results: each function answers one claim with a verdict and the numbers
behind it.
"""

from kwis_paper.findings.record import Finding

__all__ = ["Finding"]
