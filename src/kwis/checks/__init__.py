"""Can this log answer the question? Weights, propensities, support, balance and drift, and a plain verdict
with its reasons.
"""
