#include "cli/bench/measure.h"

#include <sys/resource.h>

#include <stdexcept>
#include <thread>

#include "cli/compose.h"
#include "consumer/producer.h"
#include "consumer/topic_admin.h"
#include "consumer/worker.h"
#include "dedup/fence.h"
#include "dedup/migration.h"
#include "schemas/queries.h"
#include "sinks/table_options.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* table = "onceward_bench_events";
constexpr const char* schema = "onceward_bench";
constexpr auto limit = 15min;  // of one run; every loop here is bounded

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string payload(const std::string& id, std::int64_t number) {
    return R"({"event_id":")" + id + R"(","account":"account-)" + std::to_string(number % 10'000) +
           R"(","amount_minor":)" + std::to_string(number * 7 % 1'000'000) +
           R"(,"currency":"EUR","created_at":"2026-01-01T00:00:00.123456Z","note":)"
           R"("a field that no )"
           R"(column asks for","retries":0})";
}

ColumnOptions column(const char* name) {
    return {name, {FieldSource::Kind::field, std::string("/") + name}, true, 0};
}

WorkerOptions worker_options(const Setting& setting, Mode mode, const std::string& group) {
    TableSinkOptions sink;
    sink.table = table;
    for (const char* name : {"event_id", "account", "amount_minor", "currency", "created_at"}) {
        sink.columns.push_back(column(name));
    }
    WorkerTopic topic;
    topic.name = setting.topic;
    topic.key.sources = *key_preset("idempotency-key");
    topic.ledger.name = group;
    topic.start.kind = StartPosition::Kind::earliest;
    topic.sink = [sink] { return make_sink(sink); };
    topic.dedup = mode != Mode::off;
    WorkerOptions options;
    options.kafka.bootstrap_servers = setting.bootstrap_servers;
    options.kafka.group = group;
    options.postgres = setting.postgres;
    options.postgres.schema = schema;
    options.batch = setting.batch;
    if (mode == Mode::single) options.batch.messages = 1;
    options.topics.push_back(std::move(topic));
    options.dead_letters = make_dead_letter_sink;
    return options;
}

// The schema and the table of this run.
class Scratch {
  public:
    explicit Scratch(const Setting& setting) : connection_(options(setting)) {
        migrate_up(connection_);
        run(sql::bench_table);
    }
    ~Scratch() {
        try {
            migrate_down(connection_, 0);
        } catch (const std::exception&) {
            // The measurement stands; the next run's migrate_up() says what is wrong.
        }
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    std::int64_t wal() { return connection_.query(sql::bench_wal, {}).integer(0, 0); }
    void check(std::int64_t expected) {
        const Result rows = connection_.query(sql::bench_rows, {}, {{"table", table}});
        if (rows.integer(0, 0) < expected || rows.integer(0, 0) != rows.integer(0, 1)) {
            throw std::runtime_error("the bench's table holds " + std::string(rows.text(0, 0)) +
                                     " rows of " + std::string(rows.text(0, 1)) + " keys, " +
                                     std::to_string(expected) + " were to be there");
        }
    }

  private:
    static ConnectionOptions options(const Setting& setting) {
        ConnectionOptions options = setting.postgres;
        options.schema = schema;
        return options;
    }
    void run(std::string_view statements) {
        std::string text(statements);
        for (std::size_t at; (at = text.find("{table}")) != std::string::npos;) {
            text.replace(at, std::string_view("{table}").size(), table);
        }
        connection_.execute(text);
    }
    Connection connection_;
};

template <class Condition>
void wait_for(Condition condition, const char* what) {
    const auto deadline = Clock::now() + limit;
    while (!condition()) {
        if (Clock::now() > deadline) {
            throw std::runtime_error(std::string("the bench waited too long ") + what);
        }
        std::this_thread::sleep_for(1ms);
    }
}

}  // namespace

std::string_view name_of(Mode mode) {
    switch (mode) {
        case Mode::dedup: return "dedup";
        case Mode::off: return "dedup off";
        case Mode::single: return "a transaction a message";
    }
    return "";
}

void fill(const Setting& setting, int partitions) {
    create_topic(setting.bootstrap_servers, setting.topic, partitions);
    ProducerOptions options;
    options.bootstrap_servers = setting.bootstrap_servers;
    Producer producer(options);
    for (std::int64_t number = 0; number < setting.messages; ++number) {
        const std::string id = new_uuid();
        const std::string text = payload(id, number);
        const Header header{"Idempotency-Key", id};
        OutgoingRecord record;
        record.topic = setting.topic;
        record.partition = Partition{static_cast<std::int32_t>(number % partitions)};
        record.payload = text;
        record.headers = {&header, 1};
        producer.send(record);
    }
    if (!producer.flush(2min) || producer.failed() > 0) {
        throw std::runtime_error("the bench's messages could not be produced: " +
                                 producer.first_failure());
    }
}

Measurement measure(const Setting& setting, Mode mode, int run) {
    Scratch scratch(setting);
    const std::string group =
        setting.topic + "-" + std::to_string(static_cast<int>(mode)) + "-" + std::to_string(run);
    const std::int64_t wanted = mode == Mode::single ? setting.single_messages : setting.messages;
    Worker worker(worker_options(setting, mode, group));
    const std::int64_t wal = scratch.wal();
    worker.start();
    // Joining the group and taking the fences is not what is measured.
    wait_for([&] { return worker.status().reading > 0; }, "for partitions");
    const auto begin = Clock::now();
    const double cpu = cpu_seconds();
    wait_for([&] { return worker.status().totals.passed() >= wanted; }, "for messages");
    const std::chrono::duration<double> took = Clock::now() - begin;
    Measurement measurement;
    measurement.worker_cpu_seconds = cpu_seconds() - cpu;
    const Worker::Status status = worker.status();
    measurement.messages = status.totals.passed();
    measurement.batches = status.batches;
    measurement.messages_per_second = static_cast<double>(measurement.messages) / took.count();
    measurement.wal_bytes_per_message =
        static_cast<double>(scratch.wal() - wal) / static_cast<double>(measurement.messages);
    worker.stop();
    scratch.check(wanted);
    return measurement;
}

}  // namespace onceward::bench
