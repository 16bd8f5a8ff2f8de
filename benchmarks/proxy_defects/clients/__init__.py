"""Unchanged clients: each module is a program for an environment that has its package, and does tasks that it is told.

A task is a line ``{"model", "url", "choice"}`` on standard input; what became of it is a line on standard output.
"""
