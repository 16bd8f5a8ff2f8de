"""Threads of tool calls are used again, and nothing leaks from one job to the next."""

import subprocess
import threading
import time

from micro_agent.tools.workers import Worker, run_in_worker


def run(job: object = None) -> Worker:
    done = threading.Event()

    def work() -> None:
        if callable(job):
            job()
        done.set()

    worker = run_in_worker(work)
    assert done.wait(30)
    return worker


def used_again(worker: Worker) -> bool:
    """Whether the worker, the last to come home, is the next to be sent out."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and worker.is_alive():
        if run() is worker:
            return True
    return False


def test_a_worker_that_has_done_its_job_takes_the_next() -> None:
    assert used_again(run())


def test_jobs_under_way_have_a_thread_each() -> None:
    release = threading.Event()

    def wait() -> None:
        release.wait(30)

    workers = [run_in_worker(wait) for _ in range(20)]
    assert len(set(workers)) == 20
    assert run() not in workers
    release.set()


def test_a_worker_with_a_process_left_behind_ends_so_that_the_process_is_nobody_elses() -> None:
    left: list[subprocess.Popen[bytes]] = []
    worker = run(lambda: left.append(subprocess.Popen(["sleep", "60"])))
    assert not used_again(worker)
    worker.join(30)
    assert not worker.is_alive()
    assert left[0].poll() is None
    left[0].kill()
    left[0].wait()


def test_an_abandoned_worker_ends_with_its_job() -> None:
    release = threading.Event()

    def wait() -> None:
        release.wait(30)

    worker = run_in_worker(wait)
    worker.abandoned = True
    release.set()
    worker.join(30)
    assert not worker.is_alive()


def test_an_idle_worker_ends_but_not_before_a_job_that_is_promised() -> None:
    done = threading.Event()
    worker = Worker(idle_s=0.02)
    worker.start()  # in nobody's list: a job is on its way
    time.sleep(0.1)
    assert worker.is_alive()
    worker.take(done.set)
    assert done.wait(30)
    worker.join(30)
    assert not worker.is_alive()
