#include "lab/bench/isolation.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>

#include "cli/composition/composition.h"
#include "dedup/ledger/ledger.h"
#include "dedup/postgres/binary.h"
#include "dedup/processor.h"
#include "lab/bench/consumption.h"
#include "schemas/queries.h"

namespace onceward::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* columns = "event_id, account, amount_minor, currency, created_at";
constexpr const char* group = "onceward-bench";
constexpr const char* topic = "isolation";
constexpr Partition partition{0};
// Microseconds from 2000-01-01, where PostgreSQL's clock begins, to 2026-01-01.
constexpr std::int64_t created_at = 9'497LL * 86'400 * 1'000'000;

Digest digest_number(std::int64_t number) { return digest_of_bytes(std::to_string(number)); }
std::string account(std::int64_t number) { return "account-" + std::to_string(number % 10'000); }

// Only what runs between begin() and end() counts.
class Stopwatch {
  public:
    Stopwatch(const CpuMeter& meter, Tables& tables)
        : meter_(meter), tables_(tables), wal_(tables.wal()), cpu_(meter.read()) {}
    void begin() {
        worker_begin_ = own_cpu_seconds();
        begin_ = Clock::now();
    }
    void end() {
        seconds_ += seconds_since(begin_);
        worker_ += own_cpu_seconds() - worker_begin_;
    }
    Measurement result(std::int64_t messages) const {
        Measurement measurement;
        measurement.messages = messages;
        measurement.applied = messages;
        measurement.seconds = seconds_;
        // The server has nothing to do between the batches.
        measurement.cpu = meter_.read() - cpu_;
        measurement.cpu.worker = worker_;
        measurement.wal_bytes = tables_.wal() - wal_;
        return measurement;
    }

  private:
    const CpuMeter& meter_;
    Tables& tables_;
    std::int64_t wal_;
    CpuTimes cpu_;
    Clock::time_point begin_;
    double worker_begin_ = 0;
    double worker_ = 0;
    double seconds_ = 0;
};

Value text_value(std::pmr::memory_resource& arena, Value::Kind kind, std::string_view text) {
    Value value;
    value.kind = kind;
    value.text = keep(arena, text);
    return value;
}

void add_message(Chunk& chunk, const Sink& sink, std::int64_t number) {
    Message message;
    message.record.partition = partition;
    message.record.offset = Offset{number};
    message.digest = digest_number(number);
    const std::vector<Value> values{
        text_value(*chunk.arena, Value::Kind::text, uuid_text(message.digest)),
        text_value(*chunk.arena, Value::Kind::text, account(number)),
        text_value(*chunk.arena, Value::Kind::number, std::to_string(number)),
        text_value(*chunk.arena, Value::Kind::text, "EUR"),
        text_value(*chunk.arena, Value::Kind::text, "2026-01-01T00:00:00Z"),
    };
    message.fields = values;
    if (const auto rejection = sink.encode(message, *chunk.arena)) {
        throw std::logic_error("the bench's own row was rejected: " + rejection->reason);
    }
    message.fields = {};
    chunk.messages.push_back(std::move(message));
}

Batch ready_batch(const Sink& sink, std::int64_t first, std::int64_t end) {
    Chunk chunk;
    chunk.messages.reserve(static_cast<std::size_t>(end - first));
    for (std::int64_t number = first; number < end; ++number) add_message(chunk, sink, number);
    chunk.spans.push_back({partition, Offset{first}, Offset{end}});
    Batch batch;
    batch.topic = topic;
    append(batch, std::move(chunk));
    return batch;
}

// Rows of a binary COPY, with its head and its end.
std::string ready_copy(std::int64_t first, std::int64_t end) {
    std::string bytes(binary::copy_header);
    const auto put_number = [&](std::int64_t value) {
        binary::put32(bytes, sizeof value);
        binary::put64(bytes, static_cast<std::uint64_t>(value));
    };
    for (std::int64_t number = first; number < end; ++number) {
        binary::put16(bytes, 5);
        binary::put_field(bytes, bytes_of(digest_number(number)));
        binary::put_field(bytes, account(number));
        put_number(number);
        binary::put_field(bytes, "EUR");
        put_number(created_at);
    }
    bytes.append(binary::copy_trailer);
    return bytes;
}

// Calls `work(first, end)` for each batch.
template <class Work>
void for_each_batch(std::int64_t messages, const BatchLimits& limits, Work work) {
    const auto size = static_cast<std::int64_t>(limits.messages);
    for (std::int64_t first = 0; first < messages; first += size) {
        work(first, std::min(first + size, messages));
    }
}

}  // namespace

Measurement write_by_processor(const CpuMeter& cpu, Tables& tables, std::int64_t messages,
                               const BatchLimits& limits) {
    tables.checkpoint();
    Connection connection(tables.options());
    LedgerOptions ledger;
    ledger.name = topic;
    ledger.store = StoreKind::log;
    const RegisteredLedger registered = register_ledger(connection, ledger, group, topic);
    const auto claims = make_claim_store(ledger, registered, std::make_shared<LogWindows>());
    const auto sink = make_sink(plain_sink());
    sink->prepare(connection);
    const auto dead_letters = make_dead_letter_sink();
    Fences fences(group, "bench");
    fences.create(connection, topic, {{partition, {Offset{0}}}}, registered.ledger);
    fences.take_over(connection, topic, partition, {}, registered.ledger, [] { return true; });
    const TopicPartition mine{topic, partition};
    claims->partitions_taken(connection, {&mine, 1});
    Processor processor({group, topic}, {}, {fences, claims.get(), *sink, *dead_letters},
                        [](std::span<const FenceMove>) {});
    Stopwatch stopwatch(cpu, tables);
    for_each_batch(messages, limits, [&](std::int64_t first, std::int64_t end) {
        Batch batch = ready_batch(*sink, first, end);
        stopwatch.begin();
        processor.start(std::move(batch));
        if (!processor.run(connection).empty()) throw std::runtime_error("the fence was taken");
        stopwatch.end();
    });
    return stopwatch.result(messages);
}

Measurement copy_into_keyed_table(const CpuMeter& cpu, Tables& tables, std::int64_t messages,
                                  const BatchLimits& limits) {
    tables.checkpoint();
    Connection connection(tables.options());
    Stopwatch stopwatch(cpu, tables);
    for_each_batch(messages, limits, [&](std::int64_t first, std::int64_t end) {
        const std::string rows = ready_copy(first, end);
        stopwatch.begin();
        connection.copy_begin(sql::sink_copy, {{"table", keyed_table}, {"columns", columns}});
        connection.copy_send(rows);
        connection.copy_end();
        stopwatch.end();
    });
    return stopwatch.result(messages);
}

}  // namespace onceward::bench
