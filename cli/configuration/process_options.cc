#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {
namespace {

constexpr std::int64_t second = 1000;
constexpr std::int64_t hour = 3600 * second;

}  // namespace

const std::vector<OptionSpec> process_options = {
    {.path = "group",
     .required = true,
     .meaning = "The consumer group. Fences, and by default operations and ledgers, belong to it: "
                "another name starts from the beginning.",
     .bind = {OptionType::text,
              [](To& to, const In& value) {
                  to.configuration.group = to.configuration.kafka.group =
                      std::get<std::string>(value);
              }}},
    {.path = "workers",
     .default_text = "1",
     .meaning = "Workers in this process, each with a consumer and a session of its own; so many "
                "for each PostgreSQL server that topics are on.",
     .cost = "Each holds up to three batches in memory, one session and two threads. More workers "
             "than partitions are idle.",
     .bind = into([](To& to) { return &to.configuration.workers; }),
     .limits = {1, 256}},
    {.path = "drain_timeout",
     .default_text = "10s",
     .meaning = "How long a shutdown or a revoked partition waits for the batch in flight before "
                "it is rolled back. Nothing is lost either way.",
     .cost = "Longer delays a rebalance, shorter repeats more work.",
     .bind = into([](To& to) { return &to.configuration.drain_timeout; }),
     .limits = {100, hour}},
    {.path = "kafka.bootstrap_servers",
     .meaning = "Brokers to begin with: `host:port`, more than one separated by commas. Needed by "
                "topics, by routes to topics, and by what publishes: an outbox, a reply.",
     .bind = into([](To& to) { return &to.configuration.kafka.bootstrap_servers; })},
    {.path = "kafka.instance_id",
     .meaning = "Makes the members static (KIP-345): `group.instance.id` is this, `.`, eight "
                "digits that stand for the worker's topics, `-` and the worker's number. Each "
                "process needs a name of its own, such as `${HOSTNAME}`.",
     .cost = "A restart within the session timeout then moves no partition. A process that ended "
             "for good is noticed only after that timeout, and so are the members from before a "
             "change of the topics. Rebalances are eager (`roundrobin`): each moves all "
             "partitions.",
     .bind = into([](To& to) { return &to.configuration.kafka.instance_id; })},
    {.path = "kafka.properties",
     .meaning = "librdkafka's properties, passed on as they are: SASL, TLS, time-outs, fetch "
                "sizes, `group.protocol`; `message.max.bytes` holds for what is produced as well. "
                "Those that would break the guarantee are refused.",
     .bind = into([](To& to) { return &to.configuration.kafka.properties; })},
    {.path = "postgres.dsn",
     .required = true,
     .meaning = "libpq's connection string or URI. A secret: it is never printed. Keep it out of "
                "the file: `${ONCEWARD_DSN}` or `${file:dsn.secret}`.",
     .bind = into([](To& to) { return &to.configuration.postgres.dsn; })},
    {.path = "postgres.schema",
     .default_text = "onceward",
     .meaning = "The schema of Onceward's own tables: fences, ledgers, dead letters.",
     .bind = into([](To& to) { return &to.configuration.postgres.schema; })},
    {.path = "postgres.application_name",
     .default_text = "onceward",
     .meaning = "What pg_stat_activity shows.",
     .bind = into([](To& to) { return &to.configuration.postgres.application_name; })},
    {.path = "postgres.connect_timeout",
     .default_text = "5s",
     .meaning = "How long to wait for a server to answer at connect.",
     .cost = "Longer finds slow servers, shorter fails over sooner.",
     .bind = into([](To& to) { return &to.configuration.postgres.connect_timeout; }),
     .limits = {2 * second, 300 * second}},
    {.path = "postgres.statement_timeout",
     .default_text = "60s",
     .meaning = "A statement that runs longer is cancelled and its batch tried again. Never "
                "applies to COMMIT.",
     .cost = "If it is too short for a big batch on a slow disk, the same batch is tried again and "
             "again.",
     .bind = into([](To& to) { return &to.configuration.postgres.statement_timeout; }),
     .limits = {100, hour}},
    {.path = "postgres.lock_timeout",
     .default_text = "10s",
     .meaning = "A wait for one lock that is longer fails, and the batch is tried again.",
     .cost = "Shorter gives up sooner where another session holds the sink's rows.",
     .bind = into([](To& to) { return &to.configuration.postgres.lock_timeout; }),
     .limits = {100, hour}},
    {.path = "postgres.idle_in_transaction_timeout",
     .default_text = "30s",
     .meaning = "The server ends a session that is idle inside a transaction for longer: frees "
                "the locks of a worker that is frozen between statements.",
     .cost = "Longer makes others wait longer for a frozen worker.",
     .bind = into([](To& to) { return &to.configuration.postgres.idle_in_transaction_timeout; }),
     .limits = {second, hour}},
    {.path = "postgres.tcp_user_timeout",
     .default_text = "15s",
     .meaning = "Bytes unacknowledged for longer mean that the peer is gone, on both ends.",
     .cost = "Shorter notices a dead network sooner, and ends sessions in a short outage.",
     .bind = into([](To& to) { return &to.configuration.postgres.tcp_user_timeout; }),
     .limits = {second, hour}},
    {.path = "postgres.client_check_interval",
     .default_text = "2s",
     .meaning = "How often the server checks that the client of a running query is connected.",
     .cost = "Longer keeps the locks of a killed worker longer.",
     .bind = into([](To& to) { return &to.configuration.postgres.client_check_interval; }),
     .limits = {100, hour}},
    {.path = "databases[].name",
     .required = true,
     .meaning = "A further PostgreSQL server, with its own fences, ledgers and dead letters: what "
                "topics call it in `database`. Letters, digits, `-` and `_`.",
     .cost = "Each server that topics name has `workers` of its own, a guard and a retention job. "
             "While it cannot be reached its topics wait, and the others continue.",
     .bind = into([](To& to) { return &to.database->name; })},
    {.path = "databases[].dsn",
     .required = true,
     .meaning = "As `postgres.dsn`. The time-outs in `postgres` hold for every server.",
     .bind = into([](To& to) { return &to.database->dsn; })},
    {.path = "databases[].schema",
     .default_text = "<postgres.schema>",
     .meaning = "As `postgres.schema`.",
     .bind = into([](To& to) { return &to.database->schema; })},
    {.path = "batch.messages",
     .default_text = "5000",
     .meaning = "Most messages in one transaction. There is no timer: a batch is what arrived "
                "during the commit before it.",
     .cost = "More is faster under load and holds more memory and locks.",
     .bind = into([](To& to) { return &to.configuration.batch.messages; }),
     .limits = {1, 1'000'000}},
    {.path = "batch.bytes",
     .default_text = "8MiB",
     .meaning = "Most bytes of keys, headers and payloads in one transaction.",
     .cost = "Bounds the memory of a worker: about three times this.",
     .bind = into_size([](To& to) { return &to.configuration.batch.bytes; }),
     .limits = {1024, std::int64_t{1} << 30}},
    {.path = "memory.budget",
     .default_text = "<80% of the cgroup's limit, or of the machine's memory>",
     .meaning = "If the process uses more memory than this, it drains, stores which partition it "
                "was most likely fetching, and ends with exit code 75; that partition halts at the "
                "next start. `0B` switches this off. A small batch may inflate to "
                "hundreds of megabytes, which librdkafka does not cap.",
     .cost = "If it is too little for the queues of the partitions (16 MiB each at most) and the "
             "batches, innocent partitions halt. If it is too close to the limit, the kernel ends "
             "the process first.",
     .bind = into_size([](To& to) { return &to.configuration.memory_budget; })},
    {.path = "logging.level",
     .default_text = "info",
     .meaning = "What is written to standard error.",
     .bind = into([](To& to) { return &to.configuration.logging.level; }),
     .choices = {"debug", "info", "warning", "error", "off"}},
    {.path = "logging.format",
     .default_text = "text",
     .meaning = "Lines for people, or one JSON object a line.",
     .bind = into([](To& to) { return &to.configuration.logging.format; }),
     .choices = {"text", "json"}},
    {.path = "admin.listen",
     .default_text = "127.0.0.1:9464",
     .meaning = "Where `/metrics`, `/livez` and `/readyz` are served: `host:port`, or `off`. Port "
                "0 lets the system choose one, which is logged. There is no authentication, hence "
                "loopback.",
     .cost = "Two processes on one machine need two ports; the one that finds it taken runs "
             "without, says so and tries again.",
     .bind = {OptionType::text,
              [](To& to, const In& value) {
                  to.configuration.admin_text = std::get<std::string>(value);
                  to.configuration.admin = parse_listen_address(to.configuration.admin_text);
              }}},
};

}  // namespace onceward
