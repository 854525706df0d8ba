"""Scans of many rows by estimators that need nothing but weights and rewards: one pass over their columns.

Values, intervals and all that is said of the weights come from every row. What looks at contexts (tests of
propensities, copies of rows, users that nobody declared, signs of training) takes rows drawn at random, as
many as it needs whatever the size of the log. Where anything is unusual, or these rows give any cause for
doubt, the log is read and evaluated whole, as every other log is.
"""
