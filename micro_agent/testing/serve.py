"""``python -m micro_agent.testing.serve --script FILE.json``: a scripted model server from a shell.

It prints its URL on stdout and serves until SIGTERM or Ctrl-C, or until its stdin ends when that is a pipe or a
terminal.
"""

import argparse
import os
import signal
import stat
import sys
from pathlib import Path
from types import FrameType

from micro_agent.errors import ConfigurationError
from micro_agent.testing.script_file import read_script
from micro_agent.testing.server import ModelServer


def main() -> int:
    """Serve; returns the exit code: 0 when it was ended, 2 for a wrong script or a port that is taken."""
    options = _parser().parse_args()
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    try:
        server = ModelServer(
            read_script(options.script), models=options.model or ["scripted"], repeat=options.repeat, port=options.port
        )
    except (ConfigurationError, OSError) as wrong:
        print(wrong, file=sys.stderr)  # noqa: T201 - a command line of its own
        return 2
    with server:
        print(server.url, flush=True)  # noqa: T201 - a command line of its own
        _wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m micro_agent.testing.serve", description="A scripted model server.")
    parser.add_argument("--script", type=Path, required=True, help="JSON file with the list of replies")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: one that is free)")
    parser.add_argument("--model", action="append", help="a model to list; may be given more than once")
    parser.add_argument("--repeat", action="store_true", help="start over when the script is exhausted")
    return parser


def _end(signum: int, frame: FrameType | None) -> None:
    sys.exit(0)


def _wait() -> None:
    """Until stdin ends; a shell gives a background job ``/dev/null``, which ends at once and means nothing."""
    if sys.stdin.isatty() or not stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode):
        sys.stdin.buffer.read()
        return
    while True:
        signal.pause()


if __name__ == "__main__":  # pragma: no branch - a program, never imported
    sys.exit(main())
