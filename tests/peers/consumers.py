"""The consumers that are compared, each with the settings of its own documentation.

A consumer is started any number of times for one run; it resumes from where its group is. Each
writes to a table of five columns. All have a session timeout of 6 s, so that a fault of 15 s shows.
"""

import os

from stage import ROOT, started

CONNECT_WORKER = '''bootstrap.servers={servers}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=true
offset.storage.file.filename={folder}/offsets
listeners=HTTP://127.0.0.1:0
consumer.auto.offset.reset=earliest
consumer.session.timeout.ms=6000
consumer.heartbeat.interval.ms=2000
'''
CONNECT_SINK = '''name={run}
connector.class=io.debezium.connector.jdbc.JdbcSinkConnector
tasks.max=1
topics={run}
connection.url=jdbc:postgresql://127.0.0.1:{port}/postgres
connection.username=tester
connection.password=none
collection.name.format={run}
schema.evolution=none
{mode}'''
ONCEWARD = '''group: {run}
kafka:
  bootstrap_servers: "{servers}"
  properties: {{session.timeout.ms: "6000", heartbeat.interval.ms: "2000"}}
postgres: {{dsn: "host=127.0.0.1 port={port} user=tester dbname=postgres"}}
admin: {{listen: "off"}}
topics:
  - name: {run}
    key: {{sources: [record_key]}}
    sink:
      table: public.{run}
      columns: {{event_id: /event_id, account: /account, amount_minor: /amount_minor,
                currency: /currency, created_at: /created_at}}
'''


class Consumer:
    """`name` and what its documentation promises; `envelope`: it wants Connect's JSON."""

    def __init__(self, name, promise, envelope=False, primary_key=False):
        self.name, self.promise = name, promise
        self.envelope, self.primary_key = envelope, primary_key

    def group(self, run):
        return run

    def set_up(self, stage, run, messages):
        """Once for each run, before the first start."""

    def start(self, stage, run, number):
        """A process. `number`: which of the run's instances it is."""
        raise NotImplementedError

    def _file(self, stage, run, name, text):
        path = os.path.join(stage.folder, f'{run}.{name}')
        with open(path, 'w') as file:
            file.write(text)
        return path

    def _log(self, stage, run):
        return os.path.join(stage.folder, f'{run}.log')


class Onceward(Consumer):
    def set_up(self, stage, run, messages):
        self.file = self._file(stage, run, 'yaml', ONCEWARD.format(
            run=run, servers=stage.broker.servers, port=stage.postgres.port))

    def start(self, stage, run, number):
        return started([os.path.join(ROOT, 'build/release/onceward'), 'run', '-c', self.file],
                       self._log(stage, run))


class Debezium(Consumer):
    def __init__(self, name, promise, mode, primary_key):
        super().__init__(name, promise, envelope=True, primary_key=primary_key)
        self.mode = mode

    def group(self, run):
        return f'connect-{run}'

    def start(self, stage, run, number):
        folder = os.path.join(stage.folder, f'{run}.connect{number}')
        os.makedirs(folder, exist_ok=True)
        worker = self._file(stage, run, f'worker{number}', CONNECT_WORKER.format(
            servers=stage.broker.servers, folder=folder))
        sink = self._file(stage, run, 'sink', CONNECT_SINK.format(
            run=run, port=stage.postgres.port, mode=self.mode))
        return started(['java', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-Xmx512m',
                        '-cp', os.environ['ONCEWARD_PEER_JARS'] + '/*',
                        'org.apache.kafka.connect.cli.ConnectStandalone', worker, sink],
                       self._log(stage, run))


class Program(Consumer):
    """A program that takes the variables of lab/bench/peer.h."""

    def __init__(self, name, promise, *command):
        super().__init__(name, promise)
        self.command = command

    def set_up(self, stage, run, messages):
        self.messages = messages

    def start(self, stage, run, number):
        peer = {'BROKERS': stage.broker.servers, 'TOPIC': run, 'GROUP': run, 'TABLE': run,
                'CLAIMS': f'{run}_claims', 'SCHEMA': 'onceward', 'MESSAGES': str(self.messages),
                'SESSION_MS': '6000'}
        environment = {f'ONCEWARD_PEER_{name}': value for name, value in peer.items()}
        return started([os.path.join(ROOT, self.command[0]), *self.command[1:]],
                       self._log(stage, run),
                       env={**os.environ, **stage.postgres.environment(), **environment})


INSERT = 'insert.mode=insert\nprimary.key.mode=none\n'
UPSERT = 'insert.mode=upsert\nprimary.key.mode=record_value\nprimary.key.fields=event_id\n'

CONSUMERS = {one.name: one for one in (
    Onceward('onceward', 'each key once'),
    Debezium('debezium-insert', 'at least once', INSERT, False),
    Debezium('debezium-upsert', 'at least once; the last of each key', UPSERT, True),
    Program('spring-single', 'each key once, by hand', 'bench/peers/single'),
    Program('spring-batch', 'each key once, by hand', 'bench/peers/spring'),
    Program('kcat-psql', 'nothing', 'tests/peers/kcat-loop'),
)}
