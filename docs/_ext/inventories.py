"""Inventories of other documentations: where each of their names is explained.

A build asks the documentations themselves for them. One that does not answer must not
stop the build: then an empty inventory takes its place, and its names are no links.
"""

import zlib
from collections.abc import Mapping
from pathlib import Path

_HEADER = """# Sphinx inventory version 2
# Project: {project}
# Version:
# The remainder of this file is compressed using zlib.
"""


def write_inventory(path: Path, project: str, places: Mapping[str, str]) -> Path:
    """Write an inventory of Python classes, and return its path.

    Parameters
    ----------
    path : Path
        The file; its folder is made.
    project : str
        The name of the documentation.
    places : mapping of str to str
        For each name the address of its page, relative to the documentation.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = write_inventory(Path(folder, "a.inv"), "a", {"a.B": "b.html#a.B"})
    ...     path.read_bytes().splitlines()[0]
    b'# Sphinx inventory version 2'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{name} py:class 1 {place} -\n" for name, place in places.items())
    contents = zlib.compress("".join(lines).encode())
    path.write_bytes(_HEADER.format(project=project).encode() + contents)
    return path
