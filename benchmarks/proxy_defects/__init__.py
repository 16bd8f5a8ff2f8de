"""Scripted defects of weak models and of their servers, and unchanged clients that have a small task to do behind them.

`task` is the task, `dev.yaml` and `held.yaml` say what goes wrong in it (half of each class in each), `upstream` is the
server that plays it on three wires, `clients` are the programs that meet it, `verdict` says what became of the task.
"""
