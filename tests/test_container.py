"""The container file: what it must say anywhere, and, where containers can be built, that it serves as promised."""

import json
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[1]
SECRET = re.compile(r"token|secret|password|passwd|api_?key|credential", re.IGNORECASE)
BUILD_TOOLS = re.compile(r"\b(gcc|g\+\+|clang|make|build-essential|apt-get|pip|curl|wget|git)\b")
PATIENCE = 300  # seconds for the service to be ready


@dataclass(frozen=True)
class Instruction:
    """A line of the container file, continued lines joined."""

    word: str
    rest: str


def read_stages() -> tuple[list[Instruction], list[list[Instruction]]]:
    """Return what stands before the first stage, and the stages."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    found = [Instruction(*line.split(maxsplit=1)) for line in lines]
    assert all(one.word.isupper() for one in found)
    starts = [place for place, one in enumerate(found) if one.word == "FROM"]
    ends = [*starts[1:], len(found)]
    return found[: starts[0]], [found[start:end] for start, end in zip(starts, ends, strict=True)]


FIRST, STAGES = read_stages()
EVERY = [one for stage in STAGES for one in stage]
LAST = STAGES[-1]


def rests(stage: list[Instruction], word: str) -> list[str]:
    return [one.rest for one in stage if one.word == word]


def test_the_base_is_a_fixed_release_of_slim_debian_and_names_no_host():
    (argument,) = rests(FIRST, "ARG")
    assert re.fullmatch(r"BASE=python:3\.\d+(\.\d+)?-slim-[a-z]+", argument)
    assert all(stage[0].rest.split()[0] == "${BASE}" for stage in STAGES)


def test_the_last_stage_runs_as_a_user_who_is_not_root():
    users = rests(LAST, "USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1])
    after = LAST[LAST.index(Instruction("USER", users[-1])) :]
    assert not [one for one in after if one.word in ("RUN", "COPY")]


def test_nothing_is_added_from_addresses_or_unpacked_on_the_way():
    assert not rests(EVERY, "ADD")
    assert not [one for one in EVERY if "://" in one.rest and "127.0.0.1" not in one.rest]


def test_there_are_no_secrets():
    assert not [one for one in (*FIRST, *EVERY) if one.word in ("ARG", "ENV") and SECRET.search(one.rest)]


def test_every_package_is_installed_by_its_hash():
    for command in re.split(r"&&|;", " && ".join(rests(EVERY, "RUN"))):
        if " install " in command and "pip" in command and "--no-index" not in command:
            assert "--require-hashes" in command
            (lock,) = re.findall(r"--requirement (\S+)", command)
            assert (ROOT / lock).is_file()
        if "pip wheel" in command:
            assert "--no-deps" in command
            assert "--no-build-isolation" in command


def test_the_last_stage_builds_nothing_and_takes_only_what_was_installed():
    assert not [command for command in rests(LAST, "RUN") if BUILD_TOOLS.search(command)]
    assert rests(LAST, "COPY") == ["--from=build /opt/tripleshot /opt/tripleshot"]


def test_its_health_is_whether_it_is_ready():
    (check,) = rests(LAST, "HEALTHCHECK")
    command = json.loads(check.partition("CMD ")[2])
    assert "/ready" in command[-1]
    compile(command[-1], "check", "exec")


def test_it_starts_the_service_without_a_shell():
    (start,), (source,) = (map(json.loads, rests(LAST, word)) for word in ("ENTRYPOINT", "CMD"))
    assert start[:2] == ["tripleshot", "serve"]
    assert source == ["atlas"]


def test_only_what_is_copied_is_sent_to_the_builder():
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8").split()
    assert ignored[0] == "*"
    copied = {name for rest in rests(STAGES[0], "COPY") for name in rest.split()[:-1]}
    assert {line[1:] for line in ignored if line.startswith("!")} == copied
    assert (ROOT / ".dockerignore").read_bytes() == (ROOT / ".containerignore").read_bytes()


def find_engine() -> str | None:
    """Return podman or docker, if one of them can build here."""
    for name in ("podman", "docker"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    return None


def test_a_container_answers_with_a_read_only_file_system_and_no_rights(tmp_path):
    engine = find_engine()
    if engine is None:
        pytest.skip("no podman or docker that can build here")
    subprocess.run(["make", "container"], cwd=ROOT, check=True)
    (tmp_path / "graph.csv").write_text("head,relation,tail\nBaku,lies in,Azerbaijan\nRiga,lies in,Latvia\n")
    command = [engine, "run", "--detach", "--rm", "--read-only", "--tmpfs", "/tmp", "--tmpfs", "/cache:mode=1777"]
    command += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--memory", "1g"]
    command += ["--volume", f"{tmp_path}:/data:ro", "--publish", "127.0.0.1::8000", "tripleshot", "/data/graph.csv"]
    container = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    try:
        told = subprocess.run([engine, "port", container, "8000"], capture_output=True, text=True, check=True).stdout
        address = f"http://{told.split()[-1]}"
        end = time.monotonic() + PATIENCE
        while not is_ready(address):
            assert time.monotonic() < end
            time.sleep(0.5)
        assert httpx.get(f"{address}/about").json()["num_triples"] == 2
    finally:
        subprocess.run([engine, "stop", container], capture_output=True, check=True)


def is_ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/ready").status_code == 200
    except httpx.TransportError:
        return False
