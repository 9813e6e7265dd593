#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> process_options = {
    {"group", must_be_given, into([](To& to) { return &to.configuration.group; }),
     "The consumer group. Fences, and by default operations and ledgers, belong to it: another "
     "name starts from the beginning."},
    {"workers", "1", into([](To& to) { return &to.configuration.workers; }, {1, 256}),
     "Workers in this process, each with a consumer and a session of its own. This many are "
     "started for each PostgreSQL server that has topics.",
     "Each has one session and two threads, and holds up to three batches of a topic in memory, 32 "
     "of all its topics. More workers than partitions are idle."},
    {"drain_timeout", "10s",
     into([](To& to) { return &to.configuration.drain_timeout; }, {100, hour}),
     "How long a shutdown or a revoked partition waits for the batch in flight before it is rolled "
     "back. Nothing is lost either way.",
     "A longer value delays a rebalance. With a shorter one more work is repeated."},
    {"kafka.bootstrap_servers", "",
     into([](To& to) { return &to.configuration.kafka.bootstrap_servers; }),
     "Brokers to begin with: `host:port`, more than one separated by commas. Needed by topics, by "
     "routes to topics, and by what publishes: an outbox, a reply."},
    {"kafka.instance_id", "", into([](To& to) { return &to.configuration.kafka.instance_id; }),
     "Makes the members static (KIP-345): `group.instance.id` is this, `.`, eight digits that "
     "stand for the worker's topics, `-` and the worker's number. Each process needs a name of its "
     "own, such as `${HOSTNAME}`.",
     "A restart within the session timeout then moves no partition. A process that ended for good "
     "is noticed only after that timeout, and so are the members from before a change of the "
     "topics. Rebalances are eager (`roundrobin`): each moves all partitions."},
    {"kafka.properties", "", into([](To& to) { return &to.configuration.kafka.properties; }),
     "librdkafka's properties, passed on as they are: SASL, TLS, time-outs, fetch sizes, "
     "`group.protocol`; `message.max.bytes` holds for what is produced as well. Those that would "
     "break the guarantee are refused."},
    {"postgres.dsn", must_be_given, into([](To& to) { return &to.configuration.postgres.dsn; }),
     "libpq's connection string or URI. A secret: it is never printed. Keep it out of the file: "
     "`${ONCEWARD_DSN}` or `${file:dsn.secret}`."},
    {"postgres.operator_dsn", "<postgres.dsn>",
     into([](To& to) { return &to.configuration.operator_dsn; }),
     "The connection string for acts at the admin port, whose role has the operator's rights "
     "(`migrate up --grant-operator-to`). A secret, as `postgres.dsn`.",
     "If it is left out, the worker's role needs these rights, and has them all the time."},
    {"postgres.schema", "onceward", into([](To& to) { return &to.configuration.postgres.schema; }),
     "The schema of Onceward's own tables: fences, ledgers, dead letters."},
    {"postgres.application_name", "onceward",
     into([](To& to) { return &to.configuration.postgres.application_name; }),
     "What pg_stat_activity shows."},
    {"postgres.connect_timeout", "5s",
     into([](To& to) { return &to.configuration.postgres.connect_timeout; },
          {2 * second, 300 * second}),
     "How long to wait for a server to answer at connect.",
     "With a longer value slow servers are reached, with a shorter one a fail-over is sooner."},
    {"postgres.statement_timeout", "60s",
     into([](To& to) { return &to.configuration.postgres.statement_timeout; }, {100, hour}),
     "A statement that runs longer is cancelled and its batch tried again. Never applies "
     "to COMMIT.",
     "If it is too short for a big batch on a slow disk, the same batch is tried again and again."},
    {"postgres.lock_timeout", "10s",
     into([](To& to) { return &to.configuration.postgres.lock_timeout; }, {100, hour}),
     "A wait for one lock that is longer fails, and the batch is tried again.",
     "With a shorter value a batch gives up sooner if another session holds the sink's rows."},
    {"postgres.idle_in_transaction_timeout", "30s",
     into([](To& to) { return &to.configuration.postgres.idle_in_transaction_timeout; },
          {second, hour}),
     "The server ends a session that is idle inside a transaction for longer. This frees the locks "
     "of a worker that is frozen between statements.",
     "With a longer value others wait longer for a frozen worker."},
    {"postgres.tcp_user_timeout", "15s",
     into([](To& to) { return &to.configuration.postgres.tcp_user_timeout; }, {second, hour}),
     "If sent bytes are not acknowledged for longer, worker and server each close the connection.",
     "With a shorter value a dead network is noticed sooner, and a short outage ends sessions."},
    {"postgres.client_check_interval", "2s",
     into([](To& to) { return &to.configuration.postgres.client_check_interval; }, {100, hour}),
     "How often the server checks that the client of a running query is connected.",
     "With a longer value the locks of a killed worker stay longer."},
    {"databases[].name", must_be_given, into([](To& to) { return &to.database->name; }),
     "A further PostgreSQL server, with its own fences, ledgers and dead letters: what topics call "
     "it in `database`. Letters, digits, `-` and `_`.",
     "Each server that topics name has `workers` of its own, a guard and a retention job. While it "
     "cannot be reached its topics are not read, and the others continue."},
    {"databases[].dsn", must_be_given, into([](To& to) { return &to.database->dsn; }),
     "As `postgres.dsn`. The time-outs in `postgres` hold for every server."},
    {"databases[].operator_dsn", "<databases[].dsn>",
     into([](To& to) { return &to.database->operator_dsn; }), "As `postgres.operator_dsn`."},
    {"databases[].schema", "<postgres.schema>", into([](To& to) { return &to.database->schema; }),
     "As `postgres.schema`."},
    {"batch.messages", "5000",
     into([](To& to) { return &to.configuration.batch.messages; }, {1, 1'000'000}),
     "The maximum number of messages in one transaction. There is no timer: a batch has the "
     "messages that arrived during the commit before it.",
     "A larger number is faster under load, and holds more memory and locks."},
    {"batch.bytes", "8MiB",
     into_size([](To& to) { return &to.configuration.batch.bytes; }, {1024, std::int64_t{1} << 30}),
     "Most bytes of keys, headers and payloads in one transaction.",
     "Bounds the memory of a worker: about three times this."},
    {"memory.budget", "<80% of the cgroup's limit, or of the machine's memory>",
     into_size([](To& to) { return &to.configuration.memory_budget; }),
     "If the process uses more memory than this, it drains, stores which partition it was most "
     "likely fetching, and ends with exit code 75; that partition halts at the next start. `0B` "
     "switches this off. A small batch may inflate to hundreds of megabytes, which librdkafka does "
     "not cap.",
     "A process with topics has about 30 MiB before it reads anything, so less is refused. If it "
     "is too little for each worker's queues (its topics share 16 MiB, with 1 MiB each at least) "
     "and the batches, innocent partitions halt. If it is too close to the limit, the kernel ends "
     "the process first."},
    {"memory.claims", "<256MiB, and a third of memory.budget at most>",
     into_size([](To& to) { return &to.configuration.claims_memory; }, {std::int64_t{16} << 20}),
     "How much memory the process may use for the claims of its `log` ledgers: recent claims one "
     "by one, and filters over the sealed ones. A table of at least 100,000 claims is sealed early "
     "if recent claims take half of this. Sealed claims whose filters do not fit are looked up in "
     "PostgreSQL.",
     "If it is too little, each batch reads more blocks: several times slower, and never wrong. "
     "With `reach: partition` each batch then searches more tables, too. If recent claims alone "
     "are more than this, batches are delayed by 20 ms each until the large tables are sealed. "
     "Tables of fewer claims stay in memory, with 2 to 11 MB each at most."},
    {"logging.level", "info",
     into([](To& to) { return &to.configuration.logging.level; },
          {"debug", "info", "warning", "error", "off"}),
     "What is written to standard error."},
    {"logging.format", "text",
     into([](To& to) { return &to.configuration.logging.format; }, {"text", "json"}),
     "Lines for people, or one JSON object a line."},
    {"admin.listen", "127.0.0.1:9464", into([](To& to) { return &to.configuration.admin_text; }),
     "Where `/metrics`, `/livez` and `/readyz` are served: `host:port`, or `off`. Port 0 lets the "
     "system choose one, which is logged. The options below say who may read and act there.",
     "Two processes on one machine need two ports. A process that finds its port taken runs "
     "without it, logs that and tries again."},
    {"admin.page", "<on if admin.listen is a loopback address, else off>",
     into([](To& to) { return &to.configuration.admin_page; }, {"off", "on"}),
     "Whether the admin port also serves a web page at `/`: topics, partitions, key search, dead "
     "letters with their payloads, ledgers, this configuration without its secrets.",
     "The page's own files are open, and what they show needs the role `look`. Without any token "
     "or certificate everybody on this machine has that role if the port is on the loopback, and "
     "nobody has it elsewhere."},
};

}  // namespace onceward
