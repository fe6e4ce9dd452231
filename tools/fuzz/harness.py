"""The loop of the fuzzer: tries inputs in a child process and collects findings.

A child process tries the inputs of one target. If an input kills the child, the input
is a finding, and another child goes on with the next one. Input number i depends on
the seed, the target and i only.
"""

import contextlib
import multiprocessing
import os
import random
import re
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

LONGEST_WARM_UP = 900.0  # seconds
LONGEST_WAIT = 600.0  # seconds until a child that does not answer is killed
MOST_GROWTH = 300 * 2**10  # kilobytes by which one input may raise the peak of memory
MOST_MEMORY = 6 * 2**30  # bytes of address space above those at the start
REPORT_EVERY = 100  # inputs
TRIALS = 300  # inputs that making one finding smaller may take


class Finding(AssertionError):  # noqa: N818
    """An outcome that is not allowed."""


class Target(NamedTuple):
    """What is fuzzed: how inputs are made, and what must hold for each."""

    name: str
    make: Callable[[random.Random], Any]
    check: Callable[[Any], None]  # raises an error for an outcome not allowed
    warm_up: Callable[[], None] = lambda: None  # compiles, so that it is not timed
    # yields inputs that are smaller, for making a finding smaller
    smaller: Callable[[Any], Iterator[Any]] = lambda case: iter(())
    per_make: int = 1  # inputs that one call of check tries
    most_seconds: float = 1.0  # of processor time that one call of check may take


class Report(NamedTuple):
    """What became of a target."""

    target: str
    n_inputs: int
    seconds: float
    findings: dict[str, tuple[str, Any]]  # key -> (text, input)


def run(target: Target, n_inputs: int, seconds: float, seed: int) -> Report:
    """Try so many inputs, for so many seconds at most."""
    start, first, findings = time.monotonic(), 0, {}
    n_makes = -(-n_inputs // target.per_make)
    while first < n_makes and time.monotonic() - start < seconds:
        left = seconds - (time.monotonic() - start)
        first = _one_child(target, (first, n_makes), left, seed, findings)
    spent = time.monotonic() - start
    return Report(target.name, min(first, n_makes) * target.per_make, spent, findings)


def _one_child(target, numbers, seconds, seed, findings) -> int:
    """Try inputs until the child ends; return the number of the next input."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(
        target=_try_inputs, args=(target, numbers, seconds, seed, sender)
    )
    child.start()
    sender.close()
    current, case, is_done = numbers[0], None, False
    with contextlib.suppress(EOFError):
        wait = LONGEST_WARM_UP
        while receiver.poll(wait):
            wait = LONGEST_WAIT
            kind, current, *rest = receiver.recv()
            if kind == "finding":
                key, text, case = rest
                findings.setdefault(key, (text, case))
            is_done = kind == "done"
    if not is_done:
        child.kill()
    child.join()
    if is_done:
        return current
    # the child reports only now and then: find the input that it was at
    at = _read_mark(child.pid, current)
    case = f"input number {at} of seed {seed}"
    how = "hangs" if child.exitcode == -signal.SIGKILL else f"ends by {child.exitcode}"
    findings.setdefault(f"process {how}", (f"the process {how}", case))
    return at + 1


def _try_inputs(target, numbers, seconds, seed, sender) -> None:
    """Try inputs, in the child process, and send what is found."""
    _limit_memory()
    warnings.simplefilter("error")
    os.environ["SPANFOREST_FUZZING"] = "1"
    target.warm_up()
    sender.send(("alive", numbers[0]))
    seen: set[str] = set()
    stop = time.monotonic() + seconds
    mark = os.open(_mark(os.getpid()), os.O_CREAT | os.O_RDWR)
    for i in range(*numbers):
        if time.monotonic() > stop:
            sender.send(("done", i))
            return
        os.pwrite(mark, b"%20d" % i, 0)
        if i % REPORT_EVERY == 0:
            sender.send(("alive", i))
        case = target.make(_rng(seed, target.name, i))
        outcome = judge(target, case)
        if outcome is not None and outcome[0] not in seen:
            seen.add(outcome[0])
            sender.send(("alive", i))
            case = _smallest(target, case, outcome[0])
            sender.send(("finding", i, *outcome, case))
    sender.send(("done", numbers[1]))
    _mark(os.getpid()).unlink()


def judge(target: Target, case: Any) -> tuple[str, str] | None:
    """Return the key and the text of a finding; None if the outcome is allowed."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    signal.signal(signal.SIGALRM, _too_slow)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT / 2)
    try:
        target.check(case)
    except Exception as error:
        return _describe(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    spent = time.process_time() - start
    if spent > target.most_seconds:
        return "slow", f"takes {spent:.1f} s of processor time"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    if grown > MOST_GROWTH:
        return "memory", f"takes {grown // 1024} MB of memory"
    return None


def _too_slow(*_: Any) -> None:
    raise Finding(f"takes more than {LONGEST_WAIT / 2:.0f} s")


def _describe(error: Exception) -> tuple[str, str]:
    """Return a key that is the same for the same cause, and the text of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "spanforest" in f.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    if isinstance(error, Finding):
        key = re.sub(r"\d+", "#", str(error).split("\n")[0][:60])
        return key, str(error)
    text = "".join(traceback.format_exception(error))
    return f"{type(error).__name__} at {place}", text


def _smallest(target: Target, case: Any, key: str) -> Any:
    """Return a smaller input with the same finding."""
    trials = 0
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in target.smaller(case):
            trials += 1
            if trials > TRIALS:
                return case
            outcome = judge(target, candidate)
            if outcome is not None and outcome[0] == key:
                case, is_smaller = candidate, True
                break
    return case


def _rng(seed: int, name: str, i: int) -> random.Random:
    return random.Random(f"{seed}/{name}/{i}")


def _limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, -1))


def _mark(pid: int | None) -> Path:
    """Return the file in which a child notes the number of its input."""
    return Path(f"/dev/shm/spanforest-fuzz-{pid}")


def _read_mark(pid: int | None, otherwise: int) -> int:
    try:
        return int(_mark(pid).read_bytes())
    except (OSError, ValueError):
        return otherwise
    finally:
        _mark(pid).unlink(missing_ok=True)
