# Sourced by launch/enpire and launch/test, with $root set to the checkout; `set_up` is the way in.
# POSIX sh. What is said goes to stderr: stdout belongs to the command that is started.

env="$root/.venv"
cache="$root/.cache"
programs="$cache/programs"
stamp="$env/set-up-done" # written last: an environment without it is half made

say() { printf 'enpire: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# Prints the interpreter behind $1, if it runs and the lock has wheels for it. A pyenv shim may stand
# on PATH and fail, and a virtual environment's python may be the one about to be replaced.
real_python() {
    "$1" -I -c '
import os, sys
if sys.version_info[:2] not in ((3, 12), (3, 13)):
    sys.exit(1)
base = os.path.join(sys.base_prefix, "bin", "python%d.%d" % sys.version_info[:2])
print(base if os.path.exists(base) else sys.executable)' 2>/dev/null </dev/null
}

# 3.12 first: it is what the lock is made for and CI runs.
find_python() {
    for name in python3.12 python3.13 python3; do
        real_python "$name" && return
    done
    for pyenv in "${PYENV_ROOT:-}" "$(pyenv root 2>/dev/null)" "$HOME/.pyenv"; do
        for version in $(ls "$pyenv/versions" 2>/dev/null | grep '^3\.1[23]\.' | sort -t. -k2,2n -k3,3rn); do
            real_python "$pyenv/versions/$version/bin/python" && return
        done
    done
    return 1
}

# uv's own interpreters; it fetches one if there is none.
find_uv_python() {
    range='>=3.12,<3.14'
    real_python "$("$uv" python find --no-project --system "$range" 2>/dev/null)" && return
    say "no Python 3.12 or 3.13 here; asking uv for one"
    "$uv" python install --quiet 3.12 >&2 &&
        real_python "$("$uv" python find --no-project --system "$range" 2>/dev/null)"
}

# Prints a uv that runs: the user's, else a private one made with the Python $1.
find_uv() {
    for candidate in uv "$HOME/.local/bin/uv" "$HOME/.cargo/bin/uv" "$cache/uv/bin/uv"; do
        "$candidate" --version >/dev/null 2>&1 && { printf '%s\n' "$candidate"; return; }
    done
    rm -rf "$cache/uv"
    "$1" -m venv "$cache/uv" >&2 && "$cache/uv/bin/python" -m pip install --quiet uv >&2 &&
        printf '%s\n' "$cache/uv/bin/uv"
}

# One set-up at a time. The kernel lets go of flock's when its holder dies; where there is no flock
# (macOS) a link that names its holder serves, and is taken from a dead one.
lock() {
    mkdir -p "$cache" || fail "cannot write to $root: make it writable, or set up from another copy"
    if command -v flock >/dev/null; then
        exec 9>"$cache/setup.lock"
        flock -n 9 || { say "another set-up is under way; waiting for it"; flock 9; }
        return
    fi
    told=
    until ln -s "$$" "$cache/setup.pid" 2>/dev/null; do
        holder=$(readlink "$cache/setup.pid") || continue
        kill -0 "$holder" 2>/dev/null || { rm -f "$cache/setup.pid"; continue; }
        [ "$told" ] || say "another set-up is under way (process $holder); waiting for it"
        told=yes
        sleep 1
    done
}

unlock() {
    exec 9>&-
    rm -f "$cache/setup.pid"
}

# The first line names what the environment is made of and where it stands (its scripts hold its
# path); the second what the project is installed from.
wanted() {
    printf '%s %s\n' "$(cksum <"$root/requirements.lock")" "$root"
    cksum <"$root/pyproject.toml"
}

current() { [ -x "$env/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$(wanted)" ]; }
same_lock() { [ -x "$env/bin/python" ] && [ "$(head -n 1 "$stamp" 2>/dev/null)" = "$(wanted | head -n 1)" ]; }

# A changed lock means a new environment: packages replaced in place (MuJoCo 3 by 4) leave files behind.
make_environment() {
    say "making $env from requirements.lock (several GB, some minutes the first time)"
    rm -f "$stamp" && rm -rf "$env" || fail "cannot remove $env: remove it by hand and start again"
    "$uv" venv --quiet --python "$python" "$env" >&2 || fail "uv could not make $env with $python"
    quiet=--quiet
    [ ! -t 2 ] || quiet= # a terminal sees the downloads' progress
    "$uv" pip sync $quiet --python "$env/bin/python" --require-hashes --only-binary :all: \
        "$root/requirements.lock" >&2 ||
        fail "could not install requirements.lock (see above); start again to retry"
}

install_project() {
    rm -f "$stamp"
    "$uv" pip install --quiet --python "$env/bin/python" --no-deps --no-build-isolation \
        --editable "$root" >&2 || fail "could not install the project from $root (see above)"
}

make_current() {
    python=$(find_python) || python=
    uv=$(find_uv "${python:-python3}") ||
        fail "found no uv and could not make one: install uv, or Python 3.12 with its venv module"
    [ "$python" ] || python=$(find_uv_python) ||
        fail "found no Python 3.12 or 3.13: install one (apt, pyenv or 'uv python install 3.12')"
    same_lock || make_environment
    give_egl
    give_bwrap
    install_project
    wanted >"$stamp.new" && mv "$stamp.new" "$stamp"
}

has_egl() { PATH="$PATH:/usr/sbin:/sbin" ldconfig -p 2>/dev/null | grep -q 'libEGL\.so\.1'; }

has_bwrap() { command -v bwrap >/dev/null; }

# Without EGL there is no rendering without a display: no camera on a twin.
give_egl() {
    [ "$(uname)" = Linux ] && ! has_egl || return 0
    give "for off-screen rendering" "libegl1 libgl1-mesa-dri libosmesa6"
}

# Without bubblewrap there is no sandbox for agents' programs.
give_bwrap() {
    [ "$(uname)" = Linux ] && ! has_bwrap || return 0
    give "for the sandbox of agents" "bubblewrap"
}

# Coding agents' own programs, for tests alone: fetched if they are not there.
get_programs() {
    [ -f "$programs/fetched" ] && cmp -s "$programs/fetched" "$root/launch/programs/package-lock.json" || {
        lock
        fetch_programs || say "tests that run claude, codex and gemini are skipped"
        unlock
    }
}

# Puts them on PATH, if they could be fetched.
use_programs() {
    [ ! -f "$programs/fetched" ] || PATH="$programs/node_modules/.bin:$PATH"
}

# By the lock, without the packages' scripts; claude's copies its program to where it is called.
fetch_programs() {
    command -v npm >/dev/null || give "for tests of coding agents" "nodejs npm"
    command -v npm >/dev/null || return 1
    say "fetching claude, codex and gemini for tests (0.9 GB, once)"
    rm -rf "$programs" && mkdir -p "$programs" && cp "$root"/launch/programs/*.json "$programs" &&
        (cd "$programs" && npm ci --ignore-scripts --fetch-retries=0 &&
            node node_modules/@anthropic-ai/claude-code/install.cjs) >"$cache/npm.log" 2>&1 &&
        cp "$root/launch/programs/package-lock.json" "$programs/fetched" && return
    say "npm could not fetch them (see $cache/npm.log)"
    return 1
}

# Has apt-get install the packages $2, or says what to install; $1 is what for.
give() {
    if ! command -v apt-get >/dev/null; then
        say "missing, $1: $2 (Debian's names): install them, and start again"
        return
    elif [ "$(id -u)" = 0 ]; then
        as_root=
    elif sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        say "missing, $1; run: sudo apt-get install $2"
        return
    fi
    say "installing $2, $1"
    apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120"
    { $apt update && $apt install -y --no-install-recommends $2; } >"$cache/apt.log" 2>&1 ||
        say "apt-get could not install $2 (see $cache/apt.log), $1: it is left out"
}

set_up() {
    if ! current; then
        lock
        current || make_current # another set-up may have done it meanwhile
        unlock
    fi
    if [ "$(uname)" = Linux ] && has_egl; then
        export MUJOCO_GL="${MUJOCO_GL-egl}"
    fi
}
