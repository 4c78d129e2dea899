#!/bin/sh
# Installs what the tests need beside Python packages: a Chromium, and a library that the browser driver's Node links to.
# Without the right to install, it says what is missing; the browser tests then skip with a reason, or fail under CI=true.
set -eu

has_browser() {
  [ -n "${EQUIPOISE_CHROMIUM:-}" ] && return
  for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    command -v "$name" >/dev/null 2>&1 && return
  done
  return 1
}

missing=""
has_browser || missing="chromium fonts-dejavu-core"
if [ "$(uname)" = Linux ] && ! /sbin/ldconfig -p | grep -q 'libatomic\.so\.1'; then
  missing="$missing libatomic1"
fi
[ -n "$missing" ] || exit 0

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  echo "Installing for the browser tests: $missing"
  apt-get update -qq
  # Unquoted: a list of packages.
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
  echo "For the browser tests please install: $missing (or name a browser with EQUIPOISE_CHROMIUM)." >&2
fi
