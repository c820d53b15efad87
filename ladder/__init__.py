"""The pipeline, one stage a file: card, plan, run, receipt, verdict, ledger.

Everything here but `ladder.worker` runs without torch, and no stage looks back at a later one.
"""
