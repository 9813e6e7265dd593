"""Runs the bench of two builds in turn and prints the ratio of each setting's figures.

Called by scripts/bench-against through scripts/bench: OTHER bench ARGUMENT ... . OTHER is the other
build's program; this tree's is build/release/onceward-lab. PAIRS and ROWS come from the
environment. CPU is the worker's, in seconds a million messages. Errors of a run end all of it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

OTHER, *ARGUMENTS = sys.argv[1:]
OURS = 'build/release/onceward-lab'
PAIRS = int(os.environ.get('PAIRS', '5'))
ROWS = os.environ.get('ROWS', '1 3').split()


def figures(program):
    """(messages a second, CPU of worker, CPU of PostgreSQL) of each setting, from one run."""
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        rows = [word for row in ROWS for word in ('--row', row)]
        subprocess.run([program, *ARGUMENTS, *rows, '--pairs', '1', '--json', file.name],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        result = json.load(file)
    if result['failed']:
        sys.exit(f'{program}: {result["failed"]}')
    return {one['setting']: (one['messages_per_second'], one['worker_cpu_seconds_per_million'],
                             one['postgres_cpu_seconds_per_million'])
            for one in result['settings']}


def summary(values):
    return f'{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})'


def main():
    pairs = []
    for number in range(PAIRS):
        # The first one meets a colder machine, so the order changes.
        order = [OURS, OTHER] if number % 2 == 0 else [OTHER, OURS]
        found = {program: figures(program) for program in order}
        pairs.append((found[OURS], found[OTHER]))
        print(f'pair {number + 1} of {PAIRS}', file=sys.stderr, flush=True)
    print('| setting | rate: ours, of the other | worker CPU: ours, of the other '
          '| PostgreSQL CPU, of the other |\n|---|---|---|---|')
    for setting in pairs[0][0]:
        cells = []
        for place in range(3):
            ours = [pair[0][setting][place] for pair in pairs]
            others = [pair[1][setting][place] for pair in pairs]
            unit = f'{statistics.median(ours):,.{0 if place == 0 else 2}f}, '
            cells.append(unit + summary([a / b for a, b in zip(ours, others)]))
        print(f'| {setting} | ' + ' | '.join(cells) + ' |')


main()
