"""Wait for events of other processes, with a deadline."""

import time
from pathlib import Path


def wait_for(condition, seconds):
    """Return whether the condition becomes true within some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def process_states(session):
    """Return the state of each process of a session by its number, without zombies.

    The states are those of Linux: "R" computes, "S" waits.
    """
    states = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # behind the name, which may hold anything: state, parent, group, session
            state, _, _, of_session = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # the process has ended
            continue
        if int(of_session) == session and state != "Z":
            states[int(path.parent.name)] = state
    return states
