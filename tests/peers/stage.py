"""A private PostgreSQL and a private Kafka broker on 127.0.0.1, which faults may kill and restart.

Used by one thread. Failures are RuntimeErrors with the end of the server's log. Both servers end
with the process.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def started(command, log, **options):
    """The process ends with this one. It leads a group, so that its helpers are killed with it."""
    with open(log, 'ab') as output:
        return subprocess.Popen(['setpriv', '--pdeathsig', 'KILL', *command], stdout=output,
                                stderr=output, stdin=subprocess.DEVNULL, start_new_session=True,
                                **options)


def kill_group(process):
    """SIGKILL for the process and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def wait_until(holds, seconds, what):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f'waited {seconds} s in vain for {what}')
        time.sleep(0.1)


class Postgres:
    def __init__(self, folder):
        self.folder = os.path.join(folder, 'postgres')
        os.mkdir(self.folder)
        self.programs = subprocess.check_output(['pg_config', '--bindir'], text=True).strip()
        self.log = os.path.join(self.folder, 'log')
        self.port = free_port()
        self.as_server = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, 'postgres')
            self.as_server = ['runuser', '-u', 'postgres', '--']
        self._program('initdb', '-U', 'tester', '-A', 'trust', '-E', 'UTF8', '--no-locale')
        self.start()

    def _program(self, name, *arguments):
        subprocess.run([*self.as_server, os.path.join(self.programs, name), '-D',
                        os.path.join(self.folder, 'data'), *arguments], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self):
        self._program('pg_ctl', '-w', '-l', self.log, 'start', '-o',
                      f'-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=')

    def kill(self):
        """As after a power cut: the next start recovers what was acknowledged."""
        self._program('pg_ctl', '-m', 'immediate', 'stop')

    def environment(self):
        return {'PGHOST': '127.0.0.1', 'PGPORT': str(self.port), 'PGUSER': 'tester',
                'PGPASSWORD': 'none', 'PGDATABASE': 'postgres'}

    def query(self, sql, data=None):
        """The rows, each a list of texts. `data` goes to a COPY .. FROM STDIN."""
        done = subprocess.run(['psql', '-qtAX', '-F', '\t', '-v', 'ON_ERROR_STOP=1', '-c', sql],
                              env={**os.environ, **self.environment()}, input=data, text=True,
                              capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return [line.split('\t') for line in done.stdout.splitlines()]


class Broker:
    def __init__(self, folder):
        self.folder = os.path.join(folder, 'broker')
        self.log = os.path.join(folder, 'broker.log')
        self.port, self.controller = free_port(), free_port()
        self.servers = f'127.0.0.1:{self.port}'
        self.process = None
        self.start()

    def start(self):
        seen = self._starts()
        self.process = started(
            [os.path.join(ROOT, 'scripts/kafka/run-broker'), self.folder, str(self.port),
             str(self.controller), 'auto.create.topics.enable=true'], self.log)
        wait_until(lambda: self._starts() > seen, 120, 'the broker')

    def _starts(self):
        if not os.path.exists(self.log):
            return 0
        with open(self.log, errors='replace') as log:
            return log.read().count('Kafka Server started')

    def kill(self):
        kill_group(self.process)

    def committed(self, group, topic):
        """(sum of the group's offsets, sum of the topic's ends), as Kafka's own command says."""
        jars = os.environ['ONCEWARD_KAFKA_JARS']
        done = subprocess.run(
            ['java', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', f'{jars}/*',
             'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand', '--bootstrap-server',
             self.servers, '--describe', '--group', group], text=True, capture_output=True)
        offsets = ends = 0
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) < 5 or words[1] != topic:
                continue
            offsets += int(words[3]) if words[3] != '-' else 0
            ends += int(words[4])
        return offsets, ends


class Stage:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='onceward-peers-')
        os.chmod(self.folder, 0o755)
        self.postgres = Postgres(self.folder)
        self.broker = Broker(self.folder)

    def set_up(self):
        """Onceward's own schema; the other consumers need none."""
        subprocess.run([os.path.join(ROOT, 'build/release/onceward'), 'migrate', 'up', '--dsn',
                        f'postgresql://tester@127.0.0.1:{self.postgres.port}/postgres'],
                       check=True, stdout=subprocess.DEVNULL)

    def close(self):
        self.broker.kill()
        try:
            self.postgres.kill()
        except subprocess.CalledProcessError:
            pass  # It was down already.
        shutil.rmtree(self.folder, ignore_errors=True)
