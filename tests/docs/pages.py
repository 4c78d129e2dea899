"""The commands on the pages of the documentation, and a reader who types them."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from equipoise.cli.main import main
from equipoise.commands.lab import run as lab_run
from experiment.lab.screens.layout.sheet import Sheet
from server.serve import free_port
from tests.equipoise.commands_in_processes import equipoise
from tests.experiment.lab.visits.lab_visits import SIZE_PX, FakeDisplay, PunctualDisplay, careful, names_on, press
from tests.server_process import UNLIMITED, ServerProcess
from tests.waiting import wait_until_it_replies

FENCE = re.compile(r"^```(?P<words>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FIX = "Fix: correct the page. If it takes a study or a file for granted, make it in PREPARED of test_commands.py."
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:_\d\dh\d\d\.\d\d|T[\d:]+\+00:00)")


@dataclass(frozen=True)
class Block:
    """Commands of one block, and the output that the page shows for them (None without such a block)."""

    commands: list[str]
    output: str | None


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the blocks of commands of a page. A block `text` directly below a block shows its output."""
    fences = [*FENCE.finditer(text)]
    for fence, following in zip(fences, [*fences[1:], None], strict=True):
        if fence["words"] == "console":
            is_output = following is not None and following["words"] == "text" and _is_directly_below(fence, following)
            yield Block(commands_of(fence["text"]), following["text"] if following and is_output else None)


def _is_directly_below(fence: re.Match[str], following: re.Match[str]) -> bool:
    return not fence.string[fence.end() : following.start()].strip()


def commands_of(text: str) -> list[str]:
    r"""Return the commands of a block: lines with a prompt, or all lines of a block without prompts.

    A line that ends with `\` continues in the next line. Comments behind two spaces are left out.
    """
    lines = text.replace("\\\n", " ").splitlines()
    prompts = [re.match(r"(\w+)?[$#] ", line) for line in lines]
    typed = [line for line, prompt in zip(lines, prompts, strict=True) if prompt] if any(prompts) else lines
    return [re.sub(r"\s+#.*", "", re.sub(r"^(\w+)?[$#] ", "", line)) for line in typed]


def shows(shown: str, printed: str) -> bool:
    """Return True if a page shows what a command printed. `...` is any text, and times may differ."""
    expected = ".*?".join(re.escape(part) for part in _TIME.sub("TIME", shown).split("..."))
    return re.fullmatch(expected, _TIME.sub("TIME", printed), re.DOTALL) is not None


class Reader:
    """Types the commands of a page in the current folder, in this process.

    A server is started and stopped when it replies. In the laboratory, a participant without a window responds.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        monkeypatch.setattr(lab_run, "require_psychopy", lambda: None)
        monkeypatch.setitem(sys.modules, "experiment.lab.psychopy_display", SimpleNamespace(open_display=_open_display))

    def type(self, command: str) -> str:
        """Run a command that must succeed, and return what it printed."""
        words = shlex.split(command)
        while words and re.match(r"[A-Z_]+=", words[0]):
            self.monkeypatch.setenv(*words.pop(0).split("=", maxsplit=1))
        if words[0] == "export":
            self.monkeypatch.setenv(*words[1].split("=", maxsplit=1))
            return ""
        assert words[0] == "equipoise", f"{command}: no test can run it. Fix: name it in NOT_RUN with the reason"
        if words[1] == "serve":
            _serve(Path(words[2]), words[3:])
            return ""
        arguments = [name for word in words[1:] for name in (sorted(map(str, Path().glob(word))) or [word])]
        target = None
        if ">" in arguments:
            *arguments, _, target = arguments
        if any(word.startswith("mockllm/") for word in arguments):  # Inspect's libraries emit warnings.
            ended = equipoise(*arguments, cwd=Path.cwd())
            assert ended.returncode == 0, (command, ended.stdout, ended.stderr)
            return ended.stdout
        done = CliRunner().invoke(main, arguments)
        if done.exit_code != 0:
            raise AssertionError(f"{command}: {done.output}\n{_FIX}") from done.exception
        if target:
            Path(target).write_text(done.stdout, encoding="utf-8")
        return done.stdout


@contextmanager
def _open_display(study: Any, *_setup: object) -> Iterator[tuple[FakeDisplay, Sheet]]:
    yield _SlowDisplay(_attentive), Sheet.of(study, SIZE_PX)


class _SlowDisplay(PunctualDisplay):
    """A display whose participant takes as much time as a person who reads."""

    def press(self, picture: object, keys: object, until_ms: float | None = None) -> Any:
        made = super().press(picture, keys, until_ms)
        if made is not None:
            made.rt_ms += 2000
        return made


def _attentive(display: FakeDisplay) -> Any:
    """Press the right key in the attention check of the sample study, which asks for the second option."""
    return press("2") if "2" in names_on(display) else careful(display)


def _serve(folder: Path, options: list[str]) -> None:
    """Start a server as the page does, on a free port, and stop it when it replies."""
    kept = [word for place, word in enumerate(options) if "--port" not in options[max(0, place - 1) : place + 1]]
    port = free_port()
    process = ServerProcess(folder, port, *kept, environment=UNLIMITED | dict(os.environ))
    try:
        wait_until_it_replies(f"http://127.0.0.1:{port}/readyz", process)
    finally:
        process.kill_group()
