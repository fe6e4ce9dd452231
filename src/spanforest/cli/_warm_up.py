"""The command ``spanforest warm-up``."""

from spanforest.cli._output import echo

EXAMPLE = "spanforest warm-up"


def warm_up() -> None:
    """Compile everything ahead of time.

    The first fit on a new machine compiles its routines, which takes a while. This
    command does so once for all of them: for an image, or a machine that runs tests.
    Compiled routines are kept on disk, where later runs find them.
    """
    from spanforest import warm_up as compile_all

    echo(f"compiled in {compile_all():.0f} s")
