"""Asks for ten keys that are known and ten that are not, and prints p50 and the longest answer.

Called by scripts/bench-search: PROGRAM CONFIGURATION PORT COLD, of which COLD is a command for bash
that restarts PostgreSQL and empties the machine's cache.
"""

import json
import subprocess
import sys
import time
import urllib.request

PROGRAM, CONFIGURATION, PORT, COLD = sys.argv[1:]
KNOWN = [f'{of}-{n}' for n in (1, 2, 5) for of in ('payments', 'orders', 'charges')] + ['orders-6']
UNKNOWN = [f'nobody-{n}' for n in range(10)]


def page(key, _n):
    with urllib.request.urlopen(f'http://127.0.0.1:{PORT}/api/key?key={key}') as answer:
        return [one['applied'] for one in json.load(answer)['servers']] == [True]


def command(key, _n):
    done = subprocess.run([PROGRAM, 'explain', key, '-c', CONFIGURATION], capture_output=True)
    assert done.returncode in (0, 3), done.stderr
    return done.returncode == 0


def cold():
    subprocess.run(['bash', '-c', COLD], check=True)
    # The page's session ended with the server: its next question says so, and opens another.
    for _ in range(2):
        urllib.request.urlopen(f'http://127.0.0.1:{PORT}/api/acts').close()
        time.sleep(1.1)  # answers are kept for a second


def measure(ask, keys, known, each_cold):
    times = []
    for n, key in enumerate(keys):
        if each_cold:
            cold()
        began = time.monotonic()
        found = ask(key, n)
        times.append(time.monotonic() - began)
        assert found == known, (key, found)
    times.sort()
    return times[len(times) // 2], times[-1]


print('| asked by | keys | cache | p50 | longest |')
print('|---|---|---|---|---|')
for name, ask in (('page', page), ('command', command)):
    for cache in ('empty', 'warm'):
        for known, keys in ((True, KNOWN), (False, UNKNOWN)):
            p50, longest = measure(ask, keys, known, cache == 'empty')
            print(f'| {name} | 10 {"known" if known else "unknown"} | {cache} | '
                  f'{p50 * 1000:.0f} ms | {longest * 1000:.0f} ms |', flush=True)
