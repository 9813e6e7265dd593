# For scripts that source it from the repository's root, after start_postgres: the programs that
# call once() for each line of their input, as files of $work/calls.

mkdir "$work/calls"
inbox=$PWD/inbox
calls=$PWD/tests/linearizable/calls

# caller NAME COMMAND ...: a program, whose command gets further arguments. $before: a line of shell
# before it.
caller() {
    local name=$1
    shift
    printf '#!/bin/sh\n%s\nexec %s "$@"\n' "${before:-}" "$(printf '%q ' "$@")" >"$work/calls/$name"
    chmod +x "$work/calls/$name"
}

once_caller() { caller 'once()' "$build/tests/onceward-once-calls"; }

python_caller() {
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" --disable-pip-version-check install -q 'psycopg[binary,pool]>=3.1,<4'
    caller Python env "PYTHONPATH=$inbox/python/src" PYTHONDONTWRITEBYTECODE=1 \
        "$work/venv/bin/python" "$calls/calls.py"
}

go_caller() {
    (cd "$calls/go" && go build -o "$work/go-calls" .)
    caller Go "$work/go-calls"
}
