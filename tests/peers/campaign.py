"""The same faults and the same judge for several consumers; see docs/campaign-peers.md.

    campaign.py [--seeds N] [--first-seed N] [--messages N] [--consumer NAME] [--fault NAME]
                [--json FILE]

One run for each consumer, fault and seed, one after the other. With --json the runs that the file
has already are not done again, and each new one is added as soon as it is over. Ends with 1 if
Onceward lost a key, applied one twice, or stood still.
"""

import argparse
import json
import os
import random
import sys
import threading
import time
from dataclasses import asdict

import judge
import workload
from consumers import CONSUMERS
from faults import FAULTS
from stage import Stage, kill_group, wait_until

FIRST = 100  # messages that a consumer must have read before its fault begins
SETTLED = 3  # seconds; what was read twice may still be on its way
STANDS_STILL = 45  # seconds without any change, after the faults


class Fleet:
    """The instances of a run's consumer, with a supervisor that starts ended ones again."""

    def __init__(self, stage, consumer, run, count):
        self.stage, self.consumer, self.run = stage, consumer, run
        self.lock = threading.Lock()
        self.numbers = 0
        self.starts = 0
        self.instances = []
        for _ in range(count):
            self.add()
        self.stopped = threading.Event()
        self.supervisor = threading.Thread(target=self._supervise)
        self.supervisor.start()

    def _start(self, number):
        self.starts += 1
        return self.consumer.start(self.stage, self.run, number)

    def add(self):
        with self.lock:
            self.numbers += 1
            self.instances.append((self.numbers, self._start(self.numbers)))
            return self.instances[-1][1]

    def _supervise(self):
        while not self.stopped.wait(1):
            with self.lock:
                for place, (number, process) in enumerate(self.instances):
                    # 0: a consumer that ends when it has read all of the topic.
                    if process.poll() not in (None, 0):
                        self.instances[place] = (number, self._start(number))

    def pick(self, chance):
        with self.lock:
            return chance.choice([process for _, process in self.instances])

    def kill_one(self, chance):
        kill_group(self.pick(chance))

    def end(self, process):
        with self.lock:
            self.instances = [one for one in self.instances if one[1] is not process]
        process.terminate()
        try:
            process.wait(timeout=20)
        except Exception:
            kill_group(process)
        kill_group(process)

    def close(self):
        self.stopped.set()
        self.supervisor.join()
        for _, process in self.instances:
            kill_group(process)


def lines_of(consumer, run, order, bad):
    keys = {number: workload.key_of(run, number) for number in set(order)}
    return [(keys[n], workload.payload(keys[n], n, n in bad, consumer.envelope)) for n in order]


def wait_for_all(stage, run, least):
    """Until `least` keys have had an effect, or nothing has changed for STANDS_STILL seconds."""
    seen, since = -1, time.monotonic()
    while time.monotonic() - since < STANDS_STILL:
        now = judge.changes(stage.postgres, run)
        if now != seen:
            seen, since = now, time.monotonic()
        if now >= least and judge.judge(stage.postgres, run).missing == 0:
            break
        time.sleep(0.5)
    time.sleep(SETTLED)


def one_run(stage, consumer, fault, seed, messages):
    act, instances, refused, repeats = FAULTS[fault]
    chance = random.Random(f'{fault}/{seed}')
    run = f'{consumer.name}_{fault}_{seed}'.replace('-', '_')
    order, bad = workload.plan(messages, seed, repeats, refused)
    lines = lines_of(consumer, run, order, bad)
    judge.prepare(stage.postgres, run, consumer.primary_key)
    produced = [(key, number in bad) for (key, _), number in zip(lines, order)]
    judge.note_produced(stage.postgres, run, produced)
    producer = workload.Producer(stage.broker.servers, run)
    producer.send_all(lines[:FIRST], 0.1)
    producer.kcat.stdin.flush()
    consumer.set_up(stage, run, len(lines))
    fleet = Fleet(stage, consumer, run, instances)
    try:
        wait_until(lambda: judge.changes(stage.postgres, run) > 0, 90, f'{consumer.name} to start')
        sending = threading.Thread(target=producer.send_all, args=(lines[FIRST:], 12))
        sending.start()
        act(fleet, chance)
        sending.join()
        producer.close()
        wait_for_all(stage, run, messages - refused)
    finally:
        fleet.close()
    verdict = judge.judge(stage.postgres, run)
    offsets, ends = (0, 0)
    if verdict.missing > 0:
        offsets, ends = stage.broker.committed(consumer.group(run), run)
    # A consumer whose offsets are at the end will never read the missing ones again.
    lost = verdict.missing if ends > 0 and offsets >= ends else 0
    return {'consumer': consumer.name, 'fault': fault, 'seed': seed, 'messages': len(lines),
            'lost': lost, 'stuck': verdict.missing - lost, 'starts': fleet.starts,
            **asdict(verdict)}


def arguments():
    parser = argparse.ArgumentParser(prog='tests/peers/run')
    parser.add_argument('--seeds', type=int, default=3)
    parser.add_argument('--first-seed', type=int, default=1)
    parser.add_argument('--messages', type=int, default=20_000)
    parser.add_argument('--consumer', action='append', choices=CONSUMERS)
    parser.add_argument('--fault', action='append', choices=FAULTS)
    parser.add_argument('--json')
    return parser.parse_args()


def load(path):
    if path and os.path.exists(path):
        with open(path) as file:
            return json.load(file)
    return []


def table(results):
    """A line for each consumer and fault, all seeds together."""
    rows = ['| consumer | fault | runs | keys | lost | stuck | twice | twice, of repeats |',
            '|---|---|---|---|---|---|---|---|']
    for name in CONSUMERS:
        for fault in FAULTS:
            some = [one for one in results if (one['consumer'], one['fault']) == (name, fault)]
            if not some:
                continue
            cells = [name, fault, len(some)]
            for what in ('keys', 'lost', 'stuck', 'twice', 'twice_of_repeats'):
                cells.append(f'{sum(one[what] for one in some):,}')
            rows.append('| ' + ' | '.join(map(str, cells)) + ' |')
    return '\n'.join(rows)


def main():
    wanted = arguments()
    results = load(wanted.json)
    done = {(one['consumer'], one['fault'], one['seed']) for one in results}
    stage = Stage()
    try:
        stage.set_up()
        for seed in range(wanted.first_seed, wanted.first_seed + wanted.seeds):
            for fault in wanted.fault or FAULTS:
                for name in wanted.consumer or CONSUMERS:
                    if (name, fault, seed) in done:
                        continue
                    results.append(one_run(stage, CONSUMERS[name], fault, seed, wanted.messages))
                    print(json.dumps(results[-1]), file=sys.stderr, flush=True)
                    if wanted.json:
                        with open(wanted.json, 'w') as file:
                            json.dump(results, file, indent=1)
    finally:
        stage.close()
    print(table(results))
    ours = [one for one in results if one['consumer'] == 'onceward']
    return any(one['lost'] + one['stuck'] + one['twice'] + one['twice_of_repeats'] for one in ours)


sys.exit(main())
