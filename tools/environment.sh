#!/bin/sh
# Makes .venv ready for one purpose: sh tools/environment.sh runtime|dev|docs
#
# The environment is made with uv where it is installed, else with `python3 -m venv`. A stamp
# inside it records what was installed and from which pyproject.toml, so that the next run is
# quick. PYTHON=... chooses the interpreter. Nothing outside .venv is written.
set -eu

level=${1:?usage: tools/environment.sh runtime|dev|docs}
cd "$(dirname "$0")/.."
environment=.venv
unfinished=$environment/honestbayes-unfinished
log=$environment/honestbayes-setup.log

say() { printf 'honestbayes: %s\n' "$1" >&2; }
stop() { say "$1"; exit 1; }

recent_enough() {
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        recent_enough "$PYTHON" ||
            stop "PYTHON=$PYTHON is not a Python 3.11 or later; name one with PYTHON=/path/to/python3."
        return
    fi
    for PYTHON in python3 python3.13 python3.12 python3.11 python; do
        if recent_enough "$PYTHON"; then return; fi
    done
    stop "Python 3.11 or later is needed and was not found; install it, or name it with PYTHON=/path/to/python3."
}

python_version() { "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null || echo none; }

# What must stay the same for an environment to be of use: the place (an editable install points
# to it), and the interpreter, where one was asked for.
describe_place() { printf '%s %s\n' "$PWD" "$(python_version "$environment/bin/python")"; }

content_of_stamp() { printf '%s %s\n' "$(cksum <pyproject.toml)" "$(describe_place)"; }

is_stamped() {
    stamp=$environment/honestbayes-$1.stamp
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(content_of_stamp)" ]
}

is_ready() {
    [ ! -e "$unfinished" ] || return 1
    if [ -n "$wanted_version" ] &&
        [ "$(python_version "$environment/bin/python")" != "$wanted_version" ]; then return 1; fi
    is_stamped "$level" || { [ "$level" = runtime ] && is_stamped dev; }
}

must_be_remade() {
    [ -e "$environment" ] || return 1
    [ ! -e "$unfinished" ] || return 0
    recent_enough "$environment/bin/python" || return 0
    if [ -n "$wanted_version" ] &&
        [ "$(python_version "$environment/bin/python")" != "$wanted_version" ]; then return 0; fi
    for stamp in "$environment"/honestbayes-*.stamp; do
        [ -f "$stamp" ] || continue
        case $(cat "$stamp") in *" $(describe_place)") ;; *) return 0 ;; esac
    done
    return 1
}

# uv does not read pip's settings, so that pip does the work where an index is set for pip.
pip_has_an_index() { "$PYTHON" -m pip config list 2>/dev/null | grep -Eq 'index|find-links'; }
has_uv() { command -v uv >/dev/null 2>&1; }
has_venv() { "$PYTHON" -c 'import ensurepip, venv' >/dev/null 2>&1; }

choose_installer() {
    if has_uv && ! pip_has_an_index; then installer=uv
    elif has_venv; then installer=pip
    elif has_uv; then installer=uv
    else
        stop "$PYTHON has no venv module; install uv, or the package python3-venv of your system."
    fi
}

create() {
    mkdir -p "$environment"
    : >"$unfinished"
    [ -x "$environment/bin/python" ] && return
    if [ "$installer" = uv ]; then
        uv venv --quiet --allow-existing --python "$PYTHON" "$environment"
    else
        "$PYTHON" -m venv "$environment"
    fi
}

has_pip() { "$environment/bin/python" -m pip --version >/dev/null 2>&1; }

install() {
    if [ "$installer" = uv ] || { has_uv && ! has_pip; }; then
        uv pip install --python "$environment/bin/python" --editable "$1"
    else
        has_pip || "$environment/bin/python" -m ensurepip
        "$environment/bin/python" -m pip install --disable-pip-version-check --editable "$1"
    fi
}

no_network='NewConnectionError|NameResolution|name resolution|Network is unreachable|No matching distribution|dns error|error sending request|Connection refused|timed out|Could not connect|ProxyError'

explain_failure() {
    if grep -Eq "$no_network" "$log"; then
        stop "the packages could not be downloaded; check the network or pip's index settings, then run make again (details: $log)."
    fi
    tail -n 15 "$log" >&2
    stop "the set-up failed; the last lines of $log are above."
}

case $level in
    runtime) target='.[cli]' ;;
    dev) target='.[dev]' ;;
    docs) target='.[docs]' ;;
    *) stop "unknown level $level; choose runtime, dev or docs." ;;
esac

wanted_version=
if [ -n "${PYTHON:-}" ]; then find_python; wanted_version=$(python_version "$PYTHON"); fi
if is_ready; then exit 0; fi
find_python
choose_installer
if must_be_remade; then
    say "$environment is unfinished or belongs to another place or Python; making it again."
    rm -rf "$environment"
fi
say "installing into $environment (once; a minute or two) ..."
create
install "$target" >"$log" 2>&1 || explain_failure
content_of_stamp >"$environment/honestbayes-$level.stamp"
rm -f "$unfinished"
