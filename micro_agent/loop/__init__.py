"""The loop: what happens between two replies. It does no I/O: it yields effects, and a driver answers them.

A driver is a session (`micro_agent.running.session`) or a replay.
"""
