"""Look for known vulnerabilities of the locked packages, and say honestly how many of them could be looked up.

    python scripts/audit_packages.py locks/serve.txt

pip-audit passes packages over that the index does not tell about, and then finds nothing wrong with them. Here that is
no success: the exit code is 0 if every package was looked up and none has a known vulnerability, 1 if one has, and 2 if
it is not known, as without a network.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2


@dataclass(frozen=True)
class Verdict:
    """What an audit found.

    Attributes:
        code: to exit with.
        lines: to show a person.
    """

    code: int
    lines: tuple[str, ...]


def judge(report: Mapping[str, Any]) -> Verdict:
    """Read a report of pip-audit."""
    packages = {package["name"]: package for package in report["dependencies"]}
    unknown = sorted(name for name, package in packages.items() if "skip_reason" in package)
    lines = [
        f"{name} {package['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version yet'}"
        for name, package in sorted(packages.items())
        for found in package.get("vulns", [])
    ]
    is_vulnerable = bool(lines)
    lines.append(f"{len(packages) - len(unknown)} of {len(packages)} packages looked up")
    if unknown:
        shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        lines.append(f"not known: {shown}; the index does not tell about them, or there is no network")
    return Verdict(VULNERABLE if is_vulnerable else UNKNOWN if unknown or not packages else CLEAN, tuple(lines))


def audit(files: Sequence[str]) -> Verdict:
    """Audit the packages of lock files."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    command += ["--disable-pip", "--require-hashes"]
    for file in files:
        command += ["--requirement", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return judge(json.loads(done.stdout))
    except ValueError:
        reason = (done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
        return Verdict(UNKNOWN, ("nothing could be looked up; is there a network?", reason))


def main() -> None:
    """Audit the files that are named."""
    verdict = audit(sys.argv[1:])
    print("\n".join(verdict.lines))
    raise SystemExit(verdict.code)


if __name__ == "__main__":
    main()
