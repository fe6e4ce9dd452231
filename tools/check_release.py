"""Check that the files of a release name one version, and that its date is known."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problems(root: Path = ROOT) -> list[str]:
    """Return what is wrong, one sentence each."""
    source = (root / "src" / "spanforest" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.*)"', source, flags=re.MULTILINE)
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, date = re.findall(r"^## \[(.*)\] - (.*)$", changelog, flags=re.MULTILINE)[0]
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    (cited,) = re.findall(r"^version: (.*)$", citation, flags=re.MULTILINE)
    (day,) = re.findall(r'^date-released: "?(.*?)"?$', citation, flags=re.MULTILINE)
    names = {"CHANGELOG.md": newest, "CITATION.cff": cited}
    wrong = [
        f"{file} names version {name}; the package is {version}. Make them equal."
        for file, name in names.items()
        if name != version
    ]
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        wrong.append(
            f"CHANGELOG.md dates {newest} {date!r}. Write the day: 2027-01-31."
        )
    if day != date:
        wrong.append(f"CITATION.cff has the date {day}, CHANGELOG.md {date}.")
    return wrong


if __name__ == "__main__":
    sys.exit("\n".join(problems()) or None)
