"""What is produced: numbered messages with a key each, some of them twice.

Pure, but for Producer, which writes to a broker through kcat. A key is a UUID made from the run's
name, so that nobody has to remember them.
"""

import json
import random
import subprocess
import time
import uuid

REPEATED = 20  # one of so many is produced a second time
REFUSED_AMOUNT = -1  # what the table's CHECK refuses

SCHEMA = {'type': 'struct', 'optional': False, 'fields': [
    {'field': 'event_id', 'type': 'string', 'name': 'io.debezium.data.Uuid', 'optional': False},
    {'field': 'account', 'type': 'string', 'optional': False},
    {'field': 'amount_minor', 'type': 'int64', 'optional': False},
    {'field': 'currency', 'type': 'string', 'optional': False},
    {'field': 'created_at', 'type': 'string', 'name': 'io.debezium.time.ZonedTimestamp',
     'optional': False}]}


def key_of(run, number):
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f'{run}/{number}'))


def payload(key, number, refused, envelope):
    row = {'event_id': key, 'account': f'account-{number % 100}',
           'amount_minor': REFUSED_AMOUNT if refused else number, 'currency': 'EUR',
           'created_at': '2026-01-01T00:00:00.123456Z'}
    return json.dumps({'schema': SCHEMA, 'payload': row} if envelope else row)


def plan(messages, seed, repeats, refused):
    """The numbers in the order of their sending; with `repeats` one of REPEATED comes again, up to
    2,000 messages later. `refused`: how many rows the table will refuse."""
    chance = random.Random(seed)
    order = list(range(messages))
    if repeats:
        for number in range(0, messages, REPEATED):
            order.insert(min(len(order), order.index(number) + chance.randint(1, 2000)), number)
    bad = set(chance.sample(range(messages // 4, messages // 2), refused))
    return order, bad


class Producer:
    """Sends at a steady rate. close() returns when the broker has acknowledged all."""

    def __init__(self, servers, topic):
        self.kcat = subprocess.Popen(
            # -E: a broker that is away for a while does not end it.
            ['kcat', '-P', '-E', '-b', servers, '-t', topic, '-K', '\t',
             '-X', 'enable.idempotence=true', '-X', 'linger.ms=5',
             '-X', 'partitioner=murmur2_random'],
            stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def send(self, key, text):
        self.kcat.stdin.write(f'{key}\t{text}\n')

    def send_all(self, lines, seconds):
        begin = time.monotonic()
        for number, (key, text) in enumerate(lines):
            ahead = begin + seconds * number / len(lines) - time.monotonic()
            if ahead > 0.01:
                self.kcat.stdin.flush()
                time.sleep(ahead)
            self.send(key, text)

    def close(self):
        self.kcat.stdin.close()
        if self.kcat.wait(timeout=180) != 0:
            raise RuntimeError('the producer failed')
