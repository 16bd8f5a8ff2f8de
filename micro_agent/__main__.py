"""``python -m micro_agent``: the command line."""

from micro_agent.cli import main

if __name__ == "__main__":  # pragma: no branch (nobody imports it)
    main()
