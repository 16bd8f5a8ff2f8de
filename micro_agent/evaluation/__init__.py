"""Evals: tasks with what is expected of them, asked, scored, counted and compared. Imports no DSPy."""
