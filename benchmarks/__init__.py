"""Speed and memory of kwis beside plain numpy/scipy and other libraries; run by ``make bench``, never part of
the tests.
"""
