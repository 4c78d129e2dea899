"""Check that a release is ready: run `python deploy/release.py` in a clean checkout, in an environment with `.[dev]`.

The script goes through a list of checks and prints one line for each. It publishes nothing. If all checks pass, it
prints the steps that are left for a person, and the packages are in `dist/`. The exit code is 1 if a check fails.

The script needs the network: it installs the wheel with the newest versions of its dependencies, as a user would.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
NEEDED = (
    "experiment/web/static/equipoise.js",
    "experiment/web/static/equipoise-plugins.js",
    "experiment/texts/de.json",
    "equipoise/studies/intuition-single/battery.jsonl",
    "analysis/report/templates/study_report.html",
    "server/templates/study.html",
)
"""Files that are data, not Python. A wheel without one of them would fail only when it is used."""
FORBIDDEN = re.compile(
    r"^(tests|benchmarks)/|/node_modules/|/studies/[^/]+/(data|results)/|\.(db|db-wal|pyc|env)$|researcher-token|signing-key"
)
"""Tests, and data or secrets of a study that was run in the checkout."""


class CheckFailed(Exception):
    """A check failed. The text says what is wrong, and how to fix it."""


def main() -> None:
    """Run every check, and print what is left to do."""
    failed = 0
    for check in CHECKS:
        name = (check.__doc__ or "").partition(".\n")[0].rstrip(".")
        try:
            note = check()
        except CheckFailed as error:
            failed += 1
            print(f"FAILED  {name}: {error}", flush=True)
        else:
            print(f"ok      {name} ({note})", flush=True)
    if failed:
        sys.exit(f"{failed} of {len(CHECKS)} checks failed. Nothing was published.")
    print(f"""
Left for a person:
1. Tag the commit: git tag -s v{version()} && git push origin v{version()}
2. Upload the packages in dist/: python -m twine upload dist/equipoise-{version()}*
3. Copy the section of CHANGELOG.md into the notes of the release.
4. Install the release in a new environment, and run: equipoise demo""")


def version() -> str:
    """Return the version in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["project"]["version"])


def versions_agree() -> str:
    """The same version is in pyproject.toml, CITATION.cff and CHANGELOG.md, and the changes have a date."""
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    if cited is None or cited[1] != version():
        raise CheckFailed(f"CITATION.cff has another version. Fix: write `version: {version()}` there.")
    heading = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if heading is None or not re.fullmatch(rf"{re.escape(version())} \(\d{{4}}-\d\d-\d\d\)", heading[1]):
        raise CheckFailed(f"no date. Fix: start the first section of CHANGELOG.md with `## {version()} (YYYY-MM-DD)`.")
    return version()


def checkout_is_clean() -> str:
    """The checkout has no changes that are not committed, and the version has no tag."""
    if run("git", "status", "--porcelain"):
        raise CheckFailed("there are changes. Fix: commit or remove them.")
    if run("git", "tag", "--list", f"v{version()}"):
        raise CheckFailed(f"the tag v{version()} exists. Fix: raise the version.")
    return run("git", "rev-parse", "--short", "HEAD")


def tests_pass() -> str:
    """All tests pass."""
    return run("bash", ".ci/run").splitlines()[-1]


def packages_build() -> str:
    """The source distribution and the wheel build, and a second build has the same bytes."""
    shutil.rmtree(DIST, ignore_errors=True)
    digests = []
    for _ in range(2):
        run(sys.executable, "-m", "hatchling", "build", "-d", str(DIST))
        digests.append({path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(DIST.iterdir())})
    if digests[0] != digests[1]:
        raise CheckFailed("two builds differ. Fix: find what in the packages depends on the time or the machine.")
    return ", ".join(digests[0])


def wheel_is_complete() -> str:
    """The source distribution builds the same wheel without Node, and the wheel has all data and no private file."""
    rebuilt = rebuilt_names()
    names = names_in(wheel())
    if rebuilt != names:
        raise CheckFailed(
            f"the wheels differ in {sorted(rebuilt ^ names)[:5]}. Fix: see [tool.hatch] in pyproject.toml."
        )
    if missing := set(NEEDED) - names:
        raise CheckFailed(
            f"the wheel does not have {', '.join(sorted(missing))}. Fix: see [tool.hatch] in pyproject.toml."
        )
    if private := sorted(filter(FORBIDDEN.search, names)):
        raise CheckFailed(
            f"the wheel has {', '.join(private[:5])}. Fix: remove these files from the packages' folders."
        )
    return f"{len(names)} files"


def rebuilt_names() -> set[str]:
    """Return the names of the files in a wheel that is built from the source distribution, with an empty PATH."""
    with tempfile.TemporaryDirectory() as folder:
        unpacked = unpack(only(DIST.glob("*.tar.gz")), Path(folder))
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=unpacked, PATH="")
        return names_in(only(Path(folder).glob("*.whl")))


def bare_install_runs() -> str:
    """The wheel installs and runs the demo without Node and without a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        venv.create(environment, with_pip=True)
        programs = str(environment / "bin")
        constraints = dict.fromkeys(("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "PYTHONPATH"), "")
        install = [f"{programs}/python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel())]
        run(*install, cwd=Path(folder), PATH=programs, **constraints)
        run(f"{programs}/equipoise", "demo", "--no-serve", cwd=Path(folder), PATH=programs, **constraints)
        reports = sorted(path.parent.parent.name for path in Path(folder).glob("equipoise-demo/*/results/report.html"))
    if len(reports) != 2:
        raise CheckFailed(
            f"the demo wrote {len(reports)} reports instead of 2. Fix: run `equipoise demo` from the wheel."
        )
    return f"reports of {' and '.join(reports)}"


def image_builds() -> str:
    """The container image builds."""
    if shutil.which("docker") is None:
        raise CheckFailed("there is no Docker. Fix: run the script on a machine with Docker.")
    run("docker", "build", "-q", "-f", "deploy/Dockerfile", "-t", f"equipoise:{version()}", ".")
    return run("docker", "run", "--rm", f"equipoise:{version()}", "equipoise", "--version")


def wheel() -> Path:
    """Return the wheel in `dist/`."""
    return only(DIST.glob("*.whl"))


def only(paths: Iterable[Path]) -> Path:
    """Return the only path."""
    found = list(paths)
    if len(found) != 1:
        raise CheckFailed(f"there are {len(found)} packages of one kind instead of 1. Fix: correct the build first.")
    return found[0]


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a source distribution, and return its folder."""
    with tarfile.open(archive) as opened:
        # The Python 3.11.2 of Debian 12 has no filters. The archive is the one that this script has made.
        opened.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # noqa: S202
    return folder / archive.name.removesuffix(".tar.gz")


def names_in(package: Path) -> set[str]:
    """Return the names of the files in a wheel."""
    with zipfile.ZipFile(package) as opened:
        return set(opened.namelist())


def run(*command: str, cwd: Path | None = None, **environment: str) -> str:
    """Run a program in `cwd` or in the checkout, and return its output.

    If the program fails, the end of its output is the reason.
    """
    done = subprocess.run(
        command,
        cwd=cwd or ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-15:])
        raise CheckFailed(f"`{' '.join(command)}` failed. Fix: see the end of its output:\n{last}")
    return done.stdout.strip()


CHECKS = (
    versions_agree, checkout_is_clean, tests_pass, packages_build, wheel_is_complete, bare_install_runs, image_builds,
)  # fmt: skip

if __name__ == "__main__":
    main()
