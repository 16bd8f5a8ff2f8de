"""The page of runs: what turns a run into what is shown, and the files that a browser shows it with.

`micro_agent.server.page` serves it, `micro_agent.page.one_file` writes it of one run: docs/page.md.
"""
