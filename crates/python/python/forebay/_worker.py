"""One run of a sweep, wherever an executor has it run: into a folder of its own, which gets its name once it is whole."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

from . import _core
from ._law import InPlace


@dataclass(frozen=True)
class Task:
    """What an executor gets: small, and the same wherever it runs."""

    folder: str
    """``runs`` of the sweep, on a file system that all workers share."""
    run: str
    """Name of the run, a hash of what it is."""
    scenario: str
    """The resolved scenario."""
    base: str
    """Folder in which the files that the scenario names are sought."""
    threads: int
    laws: list[InPlace]
    """Laws in Python; of its flows' laws some may be among those that they stand for."""


def pickled(laws: list[InPlace]) -> bytes:
    """Laws for a process that starts from nothing. TypeError where that cannot have them."""

    def module(make: Any) -> str:
        return module(make.func) if isinstance(make, functools.partial) else make.__module__

    if all(module(law.make) != "__main__" for law in laws):
        with contextlib.suppress(pickle.PicklingError, AttributeError):
            return pickle.dumps(laws)
    try:
        import cloudpickle
    except ImportError:
        raise TypeError(
            "worker processes cannot import a law that is defined in a script, a notebook or a function: move it to a "
            "module (a file mylaw.py; from mylaw import MyLaw), or install cloudpickle, or give an executor that needs "
            "no import, concurrent.futures.ThreadPoolExecutor(2)"
        ) from None
    return bytes(cloudpickle.dumps(laws))


def simulate(task: Task) -> list[str]:
    """Simulates a run, unless another worker has; gives what a reader should know.

    Safe to do twice or at once: each writes a folder of its own and renames it, and the first to come wins. Both have
    the same bytes.
    """
    runs = Path(task.folder)
    whole = runs / task.run
    if whole.exists():
        return []
    part = runs / f"{task.run}.{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.part"
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    said = _core.simulate_run(task.scenario, task.base, str(part), task.threads, started, task.laws)
    try:
        os.rename(part, whole)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        if not whole.exists():
            raise
    return said


class Processes(Executor):
    """Processes on this machine, each of which takes one task after another.

    Unlike ``concurrent.futures.ProcessPoolExecutor`` it needs no ``if __name__ == "__main__"`` in scripts, and a process
    that dies fails its own task and no other. Takes :func:`simulate` alone.
    """

    def __init__(self, max_workers: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[list[str]], Task]] = SimpleQueue()
        self._stop = False
        self._lock = threading.Lock()
        self._at_work: set[subprocess.Popen[bytes]] = set()
        self._most = max_workers
        self._threads: list[threading.Thread] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A task, to be done when a process is free."""
        if fn is not simulate or kwargs or len(args) != 1:
            raise TypeError("this executor takes the runs of a sweep alone")
        future: Future[list[str]] = Future()
        self._tasks.put((future, args[0]))
        if len(self._threads) < self._most:
            self._threads.append(threading.Thread(target=self._serve, daemon=True))
            self._threads[-1].start()
        return future

    def _serve(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        while not self._stop:
            try:
                future, task = self._tasks.get(timeout=0.1)
            except Empty:
                continue
            if not future.set_running_or_notify_cancel():
                continue
            try:
                process = process or self._start()
                assert process.stdin is not None
                assert process.stdout is not None
                # Laws apart: what cannot be imported there fails this task, and not the process.
                pickle.dump((replace(task, laws=[]), pickled(task.laws)), process.stdin)
                process.stdin.flush()
                ok, value = pickle.load(process.stdout)
            except (EOFError, OSError, pickle.UnpicklingError):
                assert process is not None
                code = self._end(process)
                process = None
                how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
                future.set_exception(RuntimeError(f"its process died ({how})"))
                continue
            if ok:
                future.set_result(value)
            else:
                future.set_exception(value)
        if process is not None:
            self._end(process)

    def _start(self) -> subprocess.Popen[bytes]:
        # Of this very interpreter and its paths; -c, as -m would import the package to find the module.
        code = f"import sys; sys.path[:] = {sys.path!r}; from forebay._worker import work; work()"
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        with self._lock:
            self._at_work.add(process)
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        with self._lock:
            self._at_work.discard(process)
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            return process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes; with ``cancel_futures`` at once."""
        while cancel_futures:
            try:
                self._tasks.get_nowait()[0].cancel()
            except Empty:
                break
        self._stop = True
        if cancel_futures:
            with self._lock:
                for process in self._at_work:
                    process.kill()
        if wait:
            for thread in self._threads:
                thread.join()


def work() -> None:
    """The life of a process: tasks come by stdin, and an end there is its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tasks: BinaryIO = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    while True:
        try:
            task, laws = pickle.load(tasks)
        except EOFError:
            return
        try:
            answer: tuple[bool, Any] = (True, simulate(replace(task, laws=pickle.loads(laws))))
        except BaseException as error:
            answer = (False, error)
        pickle.dump(answer, answers)
        answers.flush()
