"""The systemd unit, as systemd itself reads it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.missing import skip_but_never_in_ci
from tests.paths import ROOT

UNIT = ROOT / "deploy" / "equipoise.service"


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that exists on this machine, because systemd checks this."""
    if shutil.which("systemd-analyze") is None:
        skip_but_never_in_ci("there is no systemd-analyze; tests/prerequisites.sh installs it")
    text = UNIT.read_text(encoding="utf-8")
    assert "/opt/equipoise/bin/equipoise" in text
    path = tmp_path / "equipoise.service"
    path.write_text(text.replace("/opt/equipoise/bin/equipoise", "/bin/true"), encoding="utf-8")
    return path


def analyzed(*arguments: str) -> str:
    result = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


def test_systemd_knows_every_line_of_the_unit(unit: Path) -> None:
    assert "equipoise.service" not in analyzed("verify", str(unit))


def test_the_exposure_that_systemd_computes_is_small(unit: Path) -> None:
    found = re.search(
        r"exposure level for equipoise.service: ([\d.]+)", analyzed("security", "--offline=true", str(unit))
    )
    assert found
    assert float(found[1]) <= 1.5


def members(name: str) -> set[str]:
    """Return the system calls of one of systemd's sets, including the sets within it."""
    lines = [line.strip() for line in analyzed("syscall-filter", name).splitlines()[1:]]
    found = [members(line) if line.startswith("@") else {line} for line in lines if line and not line.startswith("#")]
    return set().union(*found)


def test_the_unit_allows_the_observed_system_calls_of_a_server() -> None:
    """The system calls that `strace` showed. If the two scheduling calls are refused, a server works more slowly."""
    if shutil.which("systemd-analyze") is None:
        skip_but_never_in_ci("there is no systemd-analyze; tests/prerequisites.sh installs it")
    filters = re.findall(r"^SystemCallFilter=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    allowed: set[str] = set()
    for text in filters:
        named = set().union(*map(members, text.removeprefix("~").split()))
        allowed = allowed - named if text.startswith("~") else allowed | named
    called = "sched_setaffinity sched_setscheduler mbind fdatasync epoll_wait accept4 clone3 execve prctl"
    assert set(called.split()) <= allowed
    assert not {"mount", "ptrace", "setuid", "chown", "bpf", "kexec_load", "reboot"} & allowed


@pytest.mark.parametrize(
    "line",
    ["UMask=0077", "Restart=always", "RestartSec=2", "StartLimitIntervalSec=0", "TimeoutStopSec=30",
     "LimitNOFILE=65536", "ProtectSystem=strict", "CapabilityBoundingSet="],
)  # fmt: skip
def test_the_unit_agrees_with_the_how_to(line: str) -> None:
    assert line in UNIT.read_text(encoding="utf-8").splitlines()
