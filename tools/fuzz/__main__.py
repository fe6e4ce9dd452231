"""Try many odd inputs on the readers, model files, the solver and the estimators.

Every finding is printed and its smallest input saved. The same seed and the same
versions of the libraries give the same inputs.
"""

import argparse
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(1, str(HERE.parents[1] / "tests"))  # oracles and writers of the tests

import adversarial_numbers  # noqa: E402
import data_files  # noqa: E402
import estimator_checks  # noqa: E402
import input_kinds  # noqa: E402
import saved_models  # noqa: E402
from harness import Report, run  # noqa: E402

MODULES = (
    data_files,
    saved_models,
    adversarial_numbers,
    input_kinds,
    estimator_checks,
)
TARGETS = {
    target.name: (target, share)
    for module in MODULES
    for target, share in module.TARGETS
}


def main() -> int:
    """Run the targets, print a table, and return whether there are findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--inputs", type=int, default=100_000, help="for the readers")
    parser.add_argument("--seconds", type=float, default=600, help="for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    options = parser.parse_args()
    reports = []
    for name in options.targets or TARGETS:
        target, share = TARGETS[name]
        n_inputs = max(1, round(share * options.inputs))
        report = run(target, n_inputs, options.seconds, options.seed)
        _show(report, options.out)
        reports.append(report)
    print(f"\n{'target':<20}{'inputs':>10}{'seconds':>10}{'findings':>10}")  # noqa: T201
    for report in reports:
        line = f"{report.n_inputs:>10,}{report.seconds:>10.0f}"
        print(f"{report.target:<20}{line}{len(report.findings):>10}")  # noqa: T201
    shutil.rmtree(data_files.FOLDER, ignore_errors=True)
    total = sum(report.n_inputs for report in reports)
    n_findings = sum(len(report.findings) for report in reports)
    print(f"{'all':<20}{total:>10,}{'':>10}{n_findings:>10}")  # noqa: T201
    return int(n_findings > 0)


def _show(report: Report, out: Path) -> None:
    for number, (key, (text, case)) in enumerate(report.findings.items()):
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"{report.target}-{number}.txt"
        file.write_text(f"{key}\n\n{text}\n\n{case!r}\n", errors="backslashreplace")
        shown = " ".join(repr(case).split())[:300]
        print(f"{report.target}: {key}\n    {shown}\n    {file}", flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
