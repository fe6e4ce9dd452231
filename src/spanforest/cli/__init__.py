"""The command ``spanforest``: train, predict and evaluate on files."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    args : sequence of str, optional
        The arguments of the program; by default those of this process.

    Returns
    -------
    int
        The exit code: 0, 1 for a failure, 2 for bad usage, 130 after Ctrl-C.

    Examples
    --------
    >>> from spanforest.cli import main
    >>> main(["--version"])
    spanforest ...
    0
    """
    try:
        from spanforest.cli._app import run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):  # needed to start any command
            raise
        sys.stderr.write(
            f"spanforest: the command line needs {error.name}: "
            'pip install "spanforest[cli]"\n'
        )
        return 1
    return run(sys.argv[1:] if args is None else list(args))
