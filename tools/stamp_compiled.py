"""Stamp the files of a package with a digest of them all: see `spanforest._compiled`.

    python tools/stamp_compiled.py [folder]

The last line of every file becomes ``# stamp: <digest>``. Files that already have the
right stamp are not written.
"""

import hashlib
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "spanforest" / "_compiled"
MARK = "# stamp: "


def stamped_sources(folder):
    """Return, for every file of the folder, the text that it should have."""
    sources = {}
    for path in sorted(Path(folder).glob("*.py")):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(MARK)]
        sources[path] = "".join(kept).rstrip("\n") + "\n"
    digest = hashlib.sha256()
    for path, source in sources.items():
        digest.update(f"{path.name}\0{source}\0".encode())
    stamp = f"\n\n{MARK}{digest.hexdigest()[:16]}\n"
    return {path: source + stamp for path, source in sources.items()}


def main():
    """Write the stamps."""
    for path, source in stamped_sources(*sys.argv[1:] or [PACKAGE]).items():
        if path.read_text("utf-8") != source:
            path.write_text(source, "utf-8", newline="\n")


if __name__ == "__main__":
    main()
