#!/bin/sh
# Installs what the tests need beside Python packages: a Chromium. Without the right to install, it says what is missing;
# the browser tests then skip with a reason, or fail under CI=true.
set -eu
for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
[ -n "${EQUIPOISE_CHROMIUM:-}" ] && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  echo "Installing Chromium for the browser tests ..."
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
else
  echo "No Chromium or Chrome was found: the browser tests will be skipped. Install one, or set EQUIPOISE_CHROMIUM." >&2
fi
