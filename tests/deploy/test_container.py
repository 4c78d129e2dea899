"""Files of an image, by Docker's rules for `.dockerignore`; the tests run without Docker."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.paths import ROOT

DOCKERFILE = ROOT / "deploy" / "Dockerfile"
ROOMS = ("batteries", "experiment", "server", "analysis", "equipoise")


def as_regex(pattern: str) -> re.Pattern[str]:
    """Return a pattern of `.dockerignore` (https://docs.docker.com/build/concepts/context/#syntax) as a regex."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip("/"))
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    # A folder that is excluded is excluded with all that is in it.
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts) + "(?:/.*)?")


def is_in_context(path: str) -> bool:
    """Return True if a file of the repository is sent to Docker; the last matching pattern decides."""
    included = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.strip()
        if pattern and not pattern.startswith("#") and as_regex(pattern.removeprefix("!")).fullmatch(path):
            included = pattern.startswith("!")
    return included


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", ".venv/bin/python", ".venv-lab/bin/python", ".env", "shared/data/human_answers.csv",
        "my-study/study.yaml", "my-study/data/equipoise.db", "my-study/data/equipoise.db-wal", "data/researcher-token",
        "equipoise-demo/data/signing-key", "results/report.html", "backups/monday.db", "identities.csv",
        "server/left.db", "server/left.db-wal", "equipoise/studies/blackbox-predict/data/equipoise.db",
        "equipoise/studies/blackbox-predict/data/lab/P01.csv", "equipoise/studies/blackbox-predict/results/trials.csv",
        "equipoise/data/researcher-token", "equipoise/.env", "experiment/web/node_modules/jspsych/index.js",
        "experiment/web/static/equipoise.js", "batteries/__pycache__/items.cpython-311.pyc", "tests/conftest.py",
        "benchmarks/server.py", "deploy/equipoise.service", "constraints.txt",
    ],
)  # fmt: skip
def test_no_study_secret_environment_or_result_is_sent_to_docker(path: str) -> None:
    assert not is_in_context(path)


def test_every_source_file_is_sent_to_docker() -> None:
    listed = subprocess.run(
        ["git", "ls-files", *ROOMS, "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert len(listed) > 300
    left_out = [path for path in listed if not is_in_context(path)]
    assert all(Path(path).name.startswith(".") for path in left_out), left_out
    assert not any(path.startswith("equipoise/") for path in left_out)


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def test_every_path_that_the_image_copies_is_sent_and_the_whole_folder_is_not_copied() -> None:
    copied = [source for name, rest in instructions() if name == "COPY" and "--from" not in rest
              for source in rest.split()[:-1]]  # fmt: skip
    assert set(ROOMS) < set(copied)
    assert not {".", "./", "*"} & set(copied)
    assert "ADD" not in {name for name, _ in instructions()}
    for source in copied:
        assert (ROOT / source).exists()
        assert is_in_context(source if (ROOT / source).is_file() else f"{source}/__init__.py")


def test_the_image_installs_by_hashes_and_runs_without_privileges() -> None:
    rules = instructions()
    stages = [index for index, (name, _) in enumerate(rules) if name == "FROM"]
    assert len(stages) == 2
    assert all(re.fullmatch(r"python:3\.\d+-slim-\w+( AS build)?", rules[index][1]) for index in stages)
    installs = [part for _, rest in rules for part in rest.split("&&") if "pip install" in part or "pip wheel" in part]
    assert len(installs) == 4
    for part in installs:
        assert "--require-hashes" in part or "--no-deps" in part
        assert "--no-cache-dir" in part
    final = rules[stages[-1] :]
    assert ("USER", "1000") in final
    assert not any("pip" in rest for name, rest in final if name == "RUN")
    assert [name for name, _ in final].index("USER") < [name for name, _ in final].index("CMD")
    assert {"HEALTHCHECK", "STOPSIGNAL"} <= {name for name, _ in final}
    assert not any(re.search(r"token|password|secret", rest, re.IGNORECASE) for _, rest in rules)
