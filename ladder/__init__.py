"""Cards to ledger: states a change before it is measured, runs it beside a control, and keeps what came out.

    card -> registration -> plan -> run -> receipts -> verdict -> ledger

Card, plan, verdict and ledger are pure functions of files; only `run` touches the machine, in a fresh
process an arm. Nothing here loads torch except `worker`, which is that process.
"""

__version__ = "0.1.0"
