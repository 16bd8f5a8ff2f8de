"""`micro-agent eval run` on the tasks and rubrics beside this file: ``python evals/run_evals.py --n 50``."""

import os
import sys
from pathlib import Path

from micro_agent.cli import main

if __name__ == "__main__":
    os.environ.setdefault("MICRO_AGENT_TASKS", str(Path(__file__).resolve().with_name("tasks.yaml")))
    sys.argv[1:1] = ["eval", "run"]
    main()
