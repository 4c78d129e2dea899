#!/bin/sh
# Installs the programs that the tests need in addition to Python packages: Chromium, Firefox, WebKitGTK, a library that the
# browser driver's Node links to, libraries of PsychoPy's window, a virtual display, a sound server, PostgreSQL's server, PgBouncer and
# proxies. Without the right to install, it prints what is missing. The tests that need a missing program are then skipped
# with a reason; under CI=true they fail.
set -eu

has_browser() {
  [ -n "${EQUIPOISE_CHROMIUM:-}" ] && return
  for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    command -v "$name" >/dev/null 2>&1 && return
  done
  return 1
}

has_postgres() {
  [ -n "${EQUIPOISE_POSTGRES_BIN:-}" ] && return
  command -v initdb >/dev/null 2>&1 && return
  # Debian keeps them off the PATH.
  for initdb in "$(pg_config --bindir 2>/dev/null)/initdb" /usr/lib/postgresql/*/bin/initdb; do
    [ -x "$initdb" ] && return
  done
  return 1
}

# For a PsychoPy window on a virtual display; without the last two libraries psychtoolbox cannot be imported.
has_window() {
  command -v Xvfb >/dev/null 2>&1 && [ "$(/sbin/ldconfig -p | grep -c -e 'libGLU\.so\.1' -e 'libfontconfig\.so\.1' \
    -e 'libfribidi\.so\.0' -e 'libasound\.so\.2' -e 'libjack\.so\.0')" -ge 5 ]
}

has_program() { PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v "$1" >/dev/null 2>&1; }

missing=""
has_browser || missing="$missing chromium fonts-dejavu-core"
if [ "$(uname)" = Linux ] && ! /sbin/ldconfig -p | grep -q 'libatomic\.so\.1'; then
  missing="$missing libatomic1"
fi
if [ "$(uname)" = Linux ] && ! has_window; then
  missing="$missing xvfb libgl1 libgl1-mesa-dri libglu1-mesa libfontconfig1 libfribidi0 libasound2 libjack-jackd2-0"
fi
# A sound output without a sound device, for the laboratory's tests.
[ "$(uname)" != Linux ] || has_program jackd || missing="$missing jackd2"
has_postgres || missing="$missing postgresql"
has_program firefox-esr || has_program firefox || missing="$missing firefox-esr"
if [ "$(uname)" = Linux ]; then
  has_program WebKitWebDriver || missing="$missing webkit2gtk-driver"
fi
# The reverse proxies whose recipes are tested, all in Debian 12: only the programs, without a default site.
has_program nginx || missing="$missing nginx-light"
has_program caddy || missing="$missing caddy"
has_program apache2 || has_program httpd || missing="$missing apache2-bin"
has_program openssl || missing="$missing openssl"
has_program systemd-analyze || missing="$missing systemd"
has_program pgbouncer || missing="$missing pgbouncer"
command -v ps >/dev/null 2>&1 || missing="$missing procps"
[ -n "$missing" ] || exit 0

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  echo "Installing for the tests:$missing"
  # Only the programs are needed: the installation creates no database cluster and starts no service.
  no_cluster=/etc/postgresql-common/createcluster.d/equipoise-tests.conf
  mkdir -p "${no_cluster%/*}"
  no_service=/usr/sbin/policy-rc.d
  [ ! -e "$no_service" ] || no_service=""
  trap 'rm -f "$no_cluster" $no_service' EXIT
  echo "create_main_cluster = false" >"$no_cluster"
  if [ -n "$no_service" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$no_service" && chmod 755 "$no_service"
  fi
  apt-get update -qq
  # Debian's Chromium without windows needs half the processor time. Systems without this package use the browser.
  case "$missing " in *" chromium "*)
    ! apt-cache show chromium-headless-shell >/dev/null 2>&1 || missing="$missing chromium-headless-shell" ;;
  esac
  # Unquoted: a list of packages.
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
  echo "For the tests please install:$missing" >&2
  echo "(EQUIPOISE_CHROMIUM can name a browser, EQUIPOISE_POSTGRES_BIN the folder of PostgreSQL's initdb.)" >&2
fi
