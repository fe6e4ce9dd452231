"""The command as a process of its own."""

import re


def test_version_and_exit_codes_of_the_process(spanforest):
    run = spanforest("--version")
    assert re.fullmatch(r"spanforest \d+\.\d+\.\d+\S*\n", run.stdout)
    assert run.returncode == 0
    run = spanforest("train")
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
