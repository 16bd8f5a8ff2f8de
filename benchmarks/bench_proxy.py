"""What the repairing proxy is good for, and what it costs.

Unchanged clients do one small task each behind a scripted server that makes each mistake of weak models and of their
servers once and for ever: directly, through ``micro-agent proxy``, and through it with all that it offers. Right: the
calls that the task needs, and the answer. Silently wrong: an answer that is not right, or a call that nobody meant.
Refused: an error. The clients are in an environment of their own: ``--python`` is its interpreter.
"""

import argparse
import json
import platform
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from statistics import median
from time import process_time

from benchmarks.proxy_defects.aider import EDITS, edited
from benchmarks.proxy_defects.identical import checks
from benchmarks.proxy_defects.paces import EVENTS, cpu_ms, crowd, first_byte_ms
from benchmarks.proxy_defects.proxying import proxying, relaying
from benchmarks.proxy_defects.running import CLIENTS, ROOT, Client, Outcome, run
from benchmarks.proxy_defects.sets import Defect, load
from benchmarks.proxy_defects.upstream import serving

ALL_OPTIONS = ("--heal", "embedded", "--ask-again", "--ask-after-prose")
WAYS: dict[str, tuple[str, ...] | None] = {"without": None, "proxy": (), "proxy, all options": ALL_OPTIONS}
DUE = {"without": ("mend",), "proxy": ("mend",), "proxy, all options": ("mend", "embedded", "asked", "choice")}
AT_ONCE = 3
BEST_OF, TURNS = 5, 8
CLIENT_PYTHON = ROOT / ".venv-torture" / "bin" / "python"

Outcomes = dict[str, list[Outcome]]


def outcomes(clients: Sequence[Client], defects: Sequence[Defect], python: str) -> Outcomes:
    """What became of each task, by the way to the server. Says on standard error how far it is."""
    found: Outcomes = {}
    with serving() as upstream, ThreadPoolExecutor(AT_ONCE) as pool:  # a client that tries again sleeps

        def through(url: str) -> list[Outcome]:
            running = [pool.submit(run, client, defects, url, python) for client in clients]
            told: list[Outcome] = []
            for client, its in zip(clients, running, strict=True):
                told += its.result()
                print(f"{client.name}: {len(its.result())} tasks", file=sys.stderr)
            return told

        for way, options in WAYS.items():
            if options is None:
                found[way] = through(upstream)
                continue
            with proxying(upstream, *options) as proxy:
                found[way] = through(proxy.url)
    return found


def share(found: Sequence[Outcome], kinds: Sequence[str]) -> tuple[Counter[str], int]:
    """How many of the tasks of these kinds ended how, and how many there are."""
    counted = Counter(outcome.verdict for outcome in found if outcome.defect.kind in kinds)
    return counted, counted.total()


def line(name: str, found: Outcomes, kinds: Sequence[str]) -> str:
    """One line of the table: right, silently wrong and refused, in per cent, for each way."""
    parts: list[str] = []
    total = 0
    for way in WAYS:
        counted, total = share(found[way], kinds)
        shown = [f"{counted[v] * 100 / total:5.0f}" if total else "    -" for v in ("right", "wrong", "refused")]
        parts.append("".join(shown))
    return f"{name:26}{total:6}  " + "  |".join(parts)


def harmed(found: Outcomes, way: str) -> list[Outcome]:
    """What is silently wrong this way and was right without."""
    right = {outcome.key for outcome in found["without"] if outcome.verdict == "right"}
    return [outcome for outcome in found[way] if outcome.verdict == "wrong" and outcome.key in right]


def report(found: Outcomes, clients: Sequence[Client], *, misses: bool) -> None:
    """Print the tables."""
    for title, kinds in (
        ("calls to be made", ("mend",)),
        ("amid words", ("embedded",)),
        ("prose, no call", ("asked", "choice")),
        ("nothing to be run", ("trap",)),
    ):
        heads = "  |".join(f"{'right wrong refsd':>15}" for _ in WAYS)
        print(f"\n{title:26}{'tasks':>6}  {heads}   (per cent: {', '.join(WAYS)})")
        for client in clients:
            print(
                line(
                    client.name,
                    {way: [o for o in told if o.client == client.name] for way, told in found.items()},
                    kinds,
                )
            )
        print(line("all", found, kinds))
    for way in WAYS:
        counted, total = share(found[way], DUE[way])
        print(f"{way}: {counted['right'] * 100 / (total or 1):.1f} % right of {total} ({' '.join(DUE[way])})", end="; ")
        print(f"silently wrong and right without: {len(harmed(found, way))}")
        for outcome in harmed(found, way):
            print("   ", *outcome.key, outcome.told)
    for way in list(WAYS)[1:] if misses else ():
        print(f"\nnot right: {way}")
        for outcome in found[way]:
            if outcome.verdict != "right" and outcome.defect.kind in (*DUE[way], "trap"):
                print("   ", outcome.defect.id, outcome.mode, outcome.client, outcome.verdict, outcome.told)


def identity(defects: list[Defect]) -> None:
    """Print whether what is good goes through as it is."""
    for options in ((), ("--heal", "embedded")):
        with serving() as upstream, proxying(upstream, *options) as proxy:
            told = list(checks(defects, upstream, proxy.url))
        wrong = [check for check in told if check.wrong]
        print(f"\nbyte for byte, no request more, {' '.join(options) or 'no options'}:", end=" ")
        print(f"{len(told) - len(wrong)} of {len(told)}")
        for check in wrong:
            print("   ", check.name, check.wrong)


def edits(aider: str) -> None:
    """Print whether aider edits what it was told to, directly and through the proxy."""
    with serving() as upstream, proxying(upstream) as proxy:
        for name, url in (("directly", upstream), ("through the proxy", proxy.url)):
            right = 0
            for defect, streamed in product(EDITS, (False, True)):
                with tempfile.TemporaryDirectory() as folder:
                    right += edited(aider, url, defect, Path(folder), streamed=streamed) == EDITS[defect]
            print(f"aider, {name}: {right} of {2 * len(EDITS)} edits are as the model said them")


def file_ms(count: int) -> float:
    """Processor milliseconds that this file system takes to make a file: each record is in one of its own.

    ext4 takes up to 1 ms where very many files were deleted in the last minutes: it looks at each of their places.
    """
    with tempfile.TemporaryDirectory() as folder:
        begun = process_time()
        for number in range(count):
            Path(folder, str(number)).write_bytes(b"x" * 1600)
        return (process_time() - begun) * 1000 / count


def costs(requests: int) -> None:
    """Print what the proxy costs beside a relay that only passes on.

    Machines change speed: the servers take short turns, and of each counts the best median of `BEST_OF` times `TURNS`.
    """
    with (
        serving() as upstream, relaying(upstream) as relay, proxying(upstream) as proxy,
        proxying(upstream, "--no-record") as forgetful,
    ):  # fmt: skip
        servers = {"relay": relay, "proxy, unread": proxy, "not recorded": forgetful, "proxy": proxy}
        print(f"\n{platform.processor() or platform.machine()}, Python {platform.python_version()}")
        print(f"{'CPU of a request, ms':28}" + "".join(f"{name:>15}" for name in servers) + f"{'new file':>15}")
        for streamed in (False, True):
            spent: dict[str, list[float]] = {name: [] for name in servers}
            for turn in range(BEST_OF * TURNS + 1):
                for name, server in servers.items():
                    count, unread = requests if turn else 20, name == "proxy, unread"
                    spent[name] += [cpu_ms(server, count, streamed=streamed, unread=unread)] * bool(turn)
            best = [min(median(each[k : k + TURNS]) for k in range(0, len(each), TURNS)) for each in spent.values()]
            told = "".join(f"{one:15.2f}" for one in best)
            print(f"{'streamed' if streamed else 'whole':28}{told}{file_ms(200):15.2f}")
        direct, relayed, proxied = first_byte_ms([upstream, relay.url, proxy.url], 60)
        print(f"first byte, ms: direct {direct:.1f}, relay +{relayed - direct:.1f}, proxy +{proxied - direct:.1f}")
        for name, url in (("direct", upstream), ("relay", relay.url), ("proxy", proxy.url)):
            before = relay.cpu_s() + proxy.cpu_s()
            streams = crowd(url, 200)
            used = (relay.cpu_s() + proxy.cpu_s() - before) * 1000 / (200 * EVENTS)
            whole, last = sum(stream.whole for stream in streams), max(stream.all_s for stream in streams)
            first = median(stream.first_s for stream in streams) * 1000
            print(f"200 streams at once, {name:7}{whole:4} whole, median first byte {first:.0f} ms,", end=" ")
            print(f"all in {last:.2f} s, CPU {used:.2f} ms an event")
        print(f"memory of the proxy at its peak: {proxy.memory_mb():.0f} MB")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=str(CLIENT_PYTHON), help="interpreter that has the clients")
    parser.add_argument("--half", choices=["dev", "held"], action="append", help="of the set; both by default")
    parser.add_argument("--client", action="append", help="part of a name; all by default")
    parser.add_argument("--every", type=int, default=6, metavar="N", help="every N-th defect (6); 1 is the whole set")
    parser.add_argument("--aider", metavar="PROGRAM", help="aider, in whatever environment")
    parser.add_argument("--out", type=Path, help="file for each outcome, as lines of JSON")
    parser.add_argument("--misses", action="store_true", help="say which tasks are not right")
    parser.add_argument("--skip", choices=["clients", "identity", "costs"], action="append", default=[])
    parser.add_argument("--requests", type=int, default=25, help="one after the other, in each turn (25)")
    given = parser.parse_args()
    defects = load(*given.half or ())
    clients = [c for c in CLIENTS if not given.client or any(part in c.name for part in given.client)]
    if "clients" not in given.skip:
        if Path(given.python).exists():
            tasks = [defect for defect in defects if defect.kind != "good"][:: given.every]
            found = outcomes(clients, tasks, given.python)
            if given.out:
                given.out.write_text(
                    "".join(f"{json.dumps([way, *o.key, o.verdict, o.told])}\n" for way in found for o in found[way])
                )
            report(found, clients, misses=given.misses)
        else:
            print(f"no {given.python}: `make torture` installs the clients")
    if "identity" not in given.skip:
        identity(defects)
    if given.aider:
        edits(given.aider)
    if "costs" not in given.skip:
        costs(given.requests)


if __name__ == "__main__":
    main()
