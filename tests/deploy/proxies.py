"""The three reverse proxies of docs/how-to/deploy.md, as real processes with the shipped recipes."""

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from server.serve import free_port
from tests.missing import skip_but_never_in_ci
from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
START_TIMEOUT_S = 20


@dataclass(frozen=True)
class Proxy:
    """A proxy that runs in front of a study."""

    port: int
    folder: Path
    """Everything that the proxy writes: logs, bodies, output."""

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    def connect(self) -> ssl.SSLSocket:
        """Open a connection; the test has made its certificate."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        return context.wrap_socket(plain, server_hostname="localhost")

    def written(self) -> str:
        """Return all that the proxy has written to files of any name."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".pem"]
        return "".join(path.read_text(encoding="latin-1") for path in files)


def changed(recipe: str, *changes: tuple[str, str]) -> str:
    """Return a shipped recipe with this machine's names; each replaced name must be in the recipe."""
    text = (DEPLOY / recipe).read_text(encoding="utf-8")
    for pattern, new in changes:
        assert re.search(pattern, text), f"{recipe} does not contain {pattern!r}"
        text = re.sub(pattern, new, text)
    return text


def program(*names: str) -> str:
    """Return the path of a program; without the program the test is skipped, and in CI it fails."""
    path = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
    found = next((found for name in names if (found := shutil.which(name, path=path))), None)
    if found is None:
        skip_but_never_in_ci(f"there is no {names[0]}; tests/prerequisites.sh installs it")
    return found


def nginx(folder: Path, port: int, upstream: int) -> list[str]:
    site = changed(
        "nginx.conf",
        (r"listen 80;", f"listen 127.0.0.1:{free_port()};"),
        (r"listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        (r"127\.0\.0\.1:8000", f"127.0.0.1:{upstream}"),
        (r"study\.example\.org;", "localhost;"),
        (r"/etc/letsencrypt/live/\S+/fullchain.pem", f"{folder}/certificate.pem"),
        (r"/etc/letsencrypt/live/\S+/privkey.pem", f"{folder}/key.pem"),
        (r"/var/log/nginx/study.log", f"{folder}/study.log"),
    )
    (folder / "site.conf").write_text(site)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    # As in Debian's configuration: an access log and an error log for all sites without other settings.
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ {temporary} access_log {folder}/access.log; include {folder}/site.conf; }}\n"
    )
    return [program("nginx"), "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", str(folder / "start.log")]


def caddy(folder: Path, port: int, upstream: int) -> list[str]:
    certificate = f"\ttls {folder}/certificate.pem {folder}/key.pem"
    site = changed(
        "Caddyfile",
        (r"(?m)^\{\n", "{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system {\n\t\troot "
                       f"{folder}/storage\n\t}}\n"),
        (r"(?m)^study\.example\.org \{", f"https://localhost:{port} {{\n{certificate}"),
        (r"127\.0\.0\.1:8000", f"127.0.0.1:{upstream}"),
    )  # fmt: skip
    (folder / "Caddyfile").write_text(site)
    return [program("caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


def apache(folder: Path, port: int, upstream: int) -> list[str]:
    plain_port = free_port()
    site = changed(
        "apache.conf",
        (r"\*:80>", f"127.0.0.1:{plain_port}>"),
        (r"\*:443>", f"127.0.0.1:{port}>"),
        (r"127\.0\.0\.1:8000", f"127.0.0.1:{upstream}"),
        (r"ServerName study\.example\.org", "ServerName localhost"),
        (r"/etc/letsencrypt/live/\S+/fullchain.pem", f"{folder}/certificate.pem"),
        (r"/etc/letsencrypt/live/\S+/privkey.pem", f"{folder}/key.pem"),
        (r"/var/log/apache2/study.log", f"{folder}/study.log"),
    )
    (folder / "site.conf").write_text(site)
    modules = ("mpm_event", "authz_core", "ssl", "proxy", "proxy_http", "headers", "reqtimeout", "buffer", "alias")
    loaded = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in modules)
    # As in Debian's configuration: an access log for all sites without a separate access log.
    (folder / "apache.conf").write_text(
        f"{loaded}ServerRoot {folder}\nServerName localhost\nPidFile {folder}/pid\nDefaultRuntimeDir {folder}\n"
        f"Listen 127.0.0.1:{port}\nListen 127.0.0.1:{plain_port}\nErrorLog {folder}/error.log\nUser www-data\n"
        f'Group www-data\nLogFormat "%h %r" all\nCustomLog {folder}/access.log all\nInclude {folder}/site.conf\n'
    )
    return [program("apache2", "httpd"), "-f", str(folder / "apache.conf"), "-DFOREGROUND"]


PROXIES = {"nginx": nginx, "caddy": caddy, "apache": apache}


@contextmanager
def running_proxy(name: str, folder: Path, upstream: int) -> Iterator[Proxy]:
    """Run a proxy with the shipped recipe in front of a server on a port of this machine."""
    port = free_port()
    command = PROXIES[name](folder, port, upstream)
    _make_certificate(folder)
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with (folder / "printed.log").open("wb") as printed:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, env=os.environ | home
        )
        try:
            _wait_until_open(process, port, folder / "printed.log")
            yield Proxy(port, folder)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def _make_certificate(folder: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
         "/CN=localhost", "-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem"), "-days", "2"],
        check=True, capture_output=True,
    )  # fmt: skip


def _wait_until_open(process: subprocess.Popen[bytes], port: int, printed: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"the proxy did not start: {printed.read_text(errors='replace')}")


def connections_to(port: int) -> int:
    """Return the number of open connections of this machine to one of its ports (Linux)."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    remote_states = [line.split()[2:4] for line in lines]
    return sum(int(remote.rpartition(":")[2], 16) == port and state == "01" for remote, state in remote_states)
