"""An audit that looked nothing up is no success."""

import sys

import pytest

import audit_packages
from audit_packages import CLEAN, UNKNOWN, VULNERABLE, audit, judge

SOUND = {"name": "sound", "version": "1.0", "vulns": []}
BAD = {"name": "bad", "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1", "2.0"]}]}
SKIPPED = {"name": "skipped", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "code", "last"),
    [
        ([SOUND], CLEAN, "1 of 1 packages looked up"),
        ([SOUND, BAD], VULNERABLE, "2 of 2 packages looked up"),
        ([SOUND, SKIPPED], UNKNOWN, "not known: skipped; the index does not tell about them, or there is no network"),
        ([BAD, SKIPPED], VULNERABLE, "not known: skipped; the index does not tell about them, or there is no network"),
        ([], UNKNOWN, "0 of 0 packages looked up"),
    ],
)
def test_the_code_says_whether_all_is_well_or_not_or_not_known(packages, code, last):
    verdict = judge({"dependencies": packages})
    assert (verdict.code, verdict.lines[-1]) == (code, last)


def test_a_vulnerability_is_named_with_the_version_that_mends_it():
    assert judge({"dependencies": [BAD]}).lines[0] == "bad 1.0: CVE-1, mended in 1.1, 2.0"


def test_an_audit_that_fails_says_that_nothing_was_looked_up(tmp_path, monkeypatch):
    (tmp_path / "pip_audit.py").write_text("raise SystemExit('no connection')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    verdict = audit(["locks/serve.txt"])
    assert verdict.code == UNKNOWN
    assert verdict.lines == ("nothing could be looked up; is there a network?", "no connection")


def test_the_command_ends_with_the_code(tmp_path, monkeypatch, capsys):
    (tmp_path / "pip_audit.py").write_text('print(\'{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}\')')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["audit_packages.py", "locks/serve.txt"])
    with pytest.raises(SystemExit) as ended:
        audit_packages.main()
    assert ended.value.code == CLEAN
    assert capsys.readouterr().out == "1 of 1 packages looked up\n"
