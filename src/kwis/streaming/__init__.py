"""Logs larger than memory: estimates and diagnostics from one pass over Arrow record batches.

::

    scan_log -> ScannedLog -> Plan (what to do with a batch) -> Accumulator (mergeable) -> Totals, StateTotals
    -> Evaluation

``Plan`` and ``Accumulator`` can be sent to other processes: each accumulates its part of the log, and the
parts merge in any order.
"""

from kwis.streaming.accumulator import Accumulator, merged
from kwis.streaming.evaluate import evaluate_scanned
from kwis.streaming.plan import Plan
from kwis.streaming.scan import ScannedLog, scan_log

__all__ = ["Accumulator", "Plan", "ScannedLog", "evaluate_scanned", "merged", "scan_log"]
