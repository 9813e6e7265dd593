"""The faults of a run: what is done to the consumers and the servers while messages come.

Each takes the fleet and a random source and returns when it is over. Between its acts a fault waits
a random part of a second or two, so that it hits another moment with each seed.
"""

import os
import signal
import time


def pause(chance, least=0.3, most=2.0):
    time.sleep(chance.uniform(least, most))


def nothing(fleet, chance):
    time.sleep(5)


def kill(fleet, chance):
    """SIGKILL, three times; a supervisor starts the consumer again after a second."""
    for _ in range(3):
        pause(chance, 1.0, 4.0)
        fleet.kill_one(chance)


def freeze(fleet, chance):
    """Two instances; one stops for longer than its session lasts, and wakes up again."""
    pause(chance)
    victim = fleet.pick(chance)
    os.killpg(victim.pid, signal.SIGSTOP)
    time.sleep(15)
    os.killpg(victim.pid, signal.SIGCONT)
    pause(chance, 2.0, 4.0)


def churn(fleet, chance):
    """A second instance comes and goes by SIGTERM, three times."""
    for _ in range(3):
        second = fleet.add()
        pause(chance, 2.0, 5.0)
        fleet.end(second)
        pause(chance)


def away(server, seconds, chance):
    pause(chance)
    server.kill()
    time.sleep(seconds)
    server.start()


def broker(fleet, chance):
    """The broker is killed, and is back three seconds later."""
    away(fleet.stage.broker, 3, chance)


def postgres(fleet, chance):
    """PostgreSQL is stopped as by a power cut, and is back two seconds later; twice."""
    for _ in range(2):
        away(fleet.stage.postgres, 2, chance)


def sessions(fleet, chance):
    """All sessions with PostgreSQL are ended, six times."""
    for _ in range(6):
        pause(chance, 0.3, 1.2)
        fleet.stage.postgres.query(
            'SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity '
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")


# name: (fault, how many instances, how many rows the table refuses, the producer repeats keys)
FAULTS = {
    'none': (nothing, 1, 0, False),
    'repeats': (nothing, 1, 0, True),
    'refused': (nothing, 1, 1, False),
    'kill': (kill, 1, 0, False),
    'freeze': (freeze, 2, 0, False),
    'churn': (churn, 1, 0, False),
    'broker': (broker, 1, 0, False),
    'postgres': (postgres, 1, 0, False),
    'sessions': (sessions, 1, 0, False),
}
