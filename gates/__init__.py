"""One question a file, asked of what a window left behind: pure functions from evidence to a finding.

Evidence types, digests, ulp distances and statistics live here too. Nothing here reads a file, a clock or a tensor,
so that a window can be judged again anywhere, years later, to the same answer.
"""
