# shellcheck shell=bash
# What the scripts of this folder share. Sourced, never run: `source lib.sh`.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
export venv="$repository/.venv"

say() { printf '== %s\n' "$*" >&2; }

fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Compiler results are shared between clones: paths below the repository are hashed relative to it. Where there is no
# home directory to write to, caches lie in build/.
use_caches() {
  export CCACHE_BASEDIR="$repository" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  if [[ -z ${HOME:-} || ! -w ${HOME:-/nonexistent} ]]; then
    export CCACHE_DIR="${CCACHE_DIR:-$repository/build/cache/ccache}"
    export PIP_CACHE_DIR="${PIP_CACHE_DIR:-$repository/build/cache/pip}"
    export npm_config_cache="${npm_config_cache:-$repository/build/cache/npm}"
  fi
}

# Git refuses to list a clone that another user owns, as in a container; this clone is the one that was asked for.
trust_repository() {
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$repository"
}

has_page() { [[ -f $repository/ui/package.json ]]; }
