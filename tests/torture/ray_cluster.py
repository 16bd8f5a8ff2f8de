"""A Ray cluster of two nodes on this machine, in a process of its own, which does what its standard input says.

It runs with the Python of the environment that has Ray. Each command is a line; each answer is a line of JSON.
"""
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any


def children(parent: int) -> list[int]:
    """The processes that descend from one."""
    found = list[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except OSError:  # it has just ended
            continue
        if int(stat.rpartition(")")[2].split()[1]) == parent:
            found += [int(folder.name), *children(int(folder.name))]
    return found


def workers() -> list[int]:
    """The processes of the workers of an eval on all nodes."""
    found = list[int]()
    for pid in children(os.getpid()):
        try:
            title = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::Worker"):
            found.append(pid)
    return found


def kill_worker() -> Any:
    """Kill one of the workers; the answer is how many there were."""
    found = workers()
    if found:
        os.kill(random.choice(found), signal.SIGKILL)
    return len(found)


def say(answer: Any) -> None:
    """Write an answer."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main(temporary: str) -> None:
    """Serve until standard input closes."""
    from ray.cluster_utils import Cluster

    quiet = {"include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"temp_dir": temporary, "num_cpus": 1, **quiet})
    cluster.add_node(num_cpus=1)
    say(cluster.address)
    for line in sys.stdin:
        if line.strip() == "kill worker":
            answer = kill_worker()
        elif line.strip() == "kill node":
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
            cluster.add_node(num_cpus=1, wait=False)  # on a busy machine that takes longer than it would be waited for
            answer = len(cluster.list_all_nodes())
        else:
            answer = len(workers())
        say(answer)
    cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
