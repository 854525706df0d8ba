"""The sections of the report, one file each: from an evaluation to the view of one section.

Everything that is counted, rounded or put into words happens here.
"""
