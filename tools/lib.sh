# shellcheck shell=bash
# What the scripts of this folder share. Sourced, never run: `source lib.sh`.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
export venv="$repository/.venv"

say() { printf '== %s\n' "$*" >&2; }

fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Compiler results are shared between clones: paths below the repository are hashed relative to it.
use_ccache() {
  export CCACHE_BASEDIR="$repository" CCACHE_NOHASHDIR=1
  if [[ -z ${HOME:-} || ! -w ${HOME:-/nonexistent} ]]; then
    export CCACHE_DIR="${CCACHE_DIR:-$repository/build/ccache}"
  fi
}

has_page() { [[ -f $repository/ui/package.json ]]; }

# Builds the web page into ui/dist. Does nothing when dist is newer than everything it is made of.
build_page() {
  local stamp="$repository/ui/dist/index.html"
  if [[ -f $stamp ]]; then
    local newer
    newer=$(find "$repository/ui" \( -name node_modules -o -name dist -o -name e2e -o -name .vite \) -prune -o -type f -newer "$stamp" -print -quit)
    [[ -z $newer ]] && return 0
  fi
  install_page_packages
  say "Building the web page"
  (cd "$repository/ui" && npm run --silent build </dev/null >&2)
}

# `npm ci`, only when the lock file changed since the last time.
install_page_packages() {
  local lock="$repository/ui/package-lock.json" installed="$repository/ui/node_modules/.package-lock.json"
  [[ -f $installed && $installed -nt $lock ]] && return 0
  say "Installing the packages of the web page"
  (cd "$repository/ui" && npm ci --no-audit --no-fund --loglevel=error </dev/null >&2)
}
