#!/usr/bin/env bash
# Makes the virtual environment VENV and installs the project with the dependency GROUPs named after it:
#   scripts/venv.sh VENV [GROUP...]
# Versions are those of constraints.txt. Needs Python >= 3.11 and nothing else; no root where the venv module is there.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
shift

find_python() {
  for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "otel-ctxscore needs Python 3.11 or later; set PYTHON to one" >&2
  exit 1
}

if [ ! -x "$venv/bin/pip" ]; then
  python=$(find_python)
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    # Debian ships the module in a package of its own.
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv
    else
      echo "Python's venv module is missing; install it once with: sudo apt-get install python3-venv" >&2
      exit 1
    fi
  fi
  "$python" -m venv "$venv"
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check 'pip>=25.1'
groups=()
for group in "$@"; do groups+=(--group "$group"); done
"$venv/bin/pip" install --quiet --disable-pip-version-check --constraint constraints.txt --editable . "${groups[@]}"
