"""Run the fast tests of the source distribution in dist, unpacked in another folder.

Arguments go to pytest. Compiled routines are cached in that folder too.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

DIST = Path(__file__).parents[1] / "dist"


def run(options: list[str]) -> int:
    """Unpack, test, and return the exit code of pytest."""
    (archive,) = DIST.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
        (root,) = Path(folder).iterdir()
        command = [sys.executable, "-m", "pytest", "-m", "not slow and not network"]
        env = {**os.environ, "PYTHONPATH": str(root / "src")}
        return subprocess.run([*command, *options], cwd=root, env=env).returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
