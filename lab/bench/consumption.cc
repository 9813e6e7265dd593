#include "lab/bench/consumption.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "cli/composition/composition.h"
#include "lab/bench/loaded_ledger.h"
#include "lab/bench/scraper.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto limit = 15min;  // of one run; every loop here is bounded

void choose_claims(WorkerTopic& topic, Claims claims) {
    switch (claims) {
        case Claims::off: topic.dedup = false; return;
        case Claims::table: topic.ledger.store = StoreKind::table; return;
        case Claims::log: topic.ledger.store = StoreKind::log; return;
        case Claims::log_partition:
            topic.ledger.store = StoreKind::log;
            topic.ledger.reach = Reach::partition;
            return;
    }
}

// The records as they are, into the raw table.
TableSinkOptions raw_sink() {
    using Kind = FieldSource::Kind;
    TableSinkOptions options;
    options.table = raw_table;
    options.columns = {{"key", {Kind::record_key, ""}, true, 0},
                       {"partition", {Kind::metadata, "partition"}, true, 0},
                       {"offset", {Kind::metadata, "offset"}, true, 0},
                       {"payload", {Kind::payload, ""}, true, 0}};
    return options;
}

// What is read from a message, and where it goes.
void choose_form(WorkerTopic& topic, Form form) {
    topic.key.sources = *key_preset("idempotency-key");
    topic.sink = [] { return make_sink(plain_sink()); };
    switch (form) {
        case Form::plain: return;
        case Form::connect: topic.format.envelope = Envelope::connect; return;
        case Form::avro:
            topic.format.format = Format::avro;
            topic.format.framing = Framing::confluent;
            return;
        case Form::keyed: break;
    }
    topic.format.format = Format::raw;
    KeySource key;
    key.kind = KeySource::Kind::record_key;
    topic.key.sources = {key};
    topic.sink = [] { return make_sink(raw_sink()); };
}

WorkerOptions worker_options(const Place& place, const Workload& workload, const Plan& plan,
                             const Tables& tables) {
    WorkerTopic topic;
    topic.name = workload.topic;
    choose_form(topic, workload.form);
    topic.schemas = plan.schemas;
    topic.key.operation = tables.id();
    topic.ledger.name = ledger_name;
    choose_claims(topic, plan.claims);
    topic.start.kind = StartPosition::Kind::earliest;
    WorkerOptions options;
    options.kafka.bootstrap_servers = place.bootstrap_servers;
    options.kafka.group = group_of(workload, tables);
    // So that several workers share the partitions within a second.
    options.kafka.properties["heartbeat.interval.ms"] = Secret("200");
    options.postgres = tables.options();
    options.batch = plan.batch;
    options.topics.push_back(std::move(topic));
    options.dead_letters = make_dead_letter_sink;
    options.tracer = plan.tracer;
    options.log_windows = std::make_shared<LogWindows>(plan.claims_memory);
    return options;
}

}  // namespace

std::string group_of(const Workload& workload, const Tables& tables) {
    return workload.topic + "-" + tables.id();
}
const char* table_of(const Workload& workload) {
    return workload.form == Form::keyed ? raw_table : plain_table;
}
const char* key_column_of(const Workload& workload) {
    return workload.form == Form::keyed ? "key" : "event_id";
}

TableSinkOptions plain_sink() {
    TableSinkOptions options;
    options.table = plain_table;
    for (const char* name : {"event_id", "account", "amount_minor", "currency", "created_at"}) {
        options.columns.push_back(
            {name, {FieldSource::Kind::field, std::string("/") + name}, true, 0});
    }
    return options;
}

void wait_until(const std::function<bool()>& holds, std::string_view what) {
    const auto deadline = Clock::now() + limit;
    while (!holds()) {
        if (Clock::now() > deadline) {
            throw std::runtime_error("the bench waited too long " + std::string(what));
        }
        std::this_thread::sleep_for(1ms);
    }
}

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Holds each writer's thread before its first fence, and times its commits.
class Workers::Gate final : public StepObserver {
  public:
    void reached(Step step) override {
        thread_local Clock::time_point begun;
        thread_local Clock::time_point sent;
        if (step == Step::before_begin) begun = Clock::now();
        if (step == Step::before_commit) sent = Clock::now();
        if (step != Step::before_take_over && step != Step::after_commit) return;
        std::unique_lock lock(mutex_);
        if (step == Step::before_take_over) {
            opened_.wait_for(lock, limit, [&] { return open_; });
            return;
        }
        times_.commits.push_back(seconds_since(sent));
        times_.transactions.push_back(seconds_since(begun));
    }
    CommitTimes take_times() {
        const std::lock_guard lock(mutex_);
        return std::exchange(times_, {});
    }
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        opened_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool open_ = false;
    CommitTimes times_;
};

Workers::Workers(const Place& place, const Workload& workload, const Plan& plan,
                 const Tables& tables)
    : gate_(std::make_unique<Gate>()) {
    const auto share = static_cast<std::size_t>(workload.partitions / plan.workers);
    const auto everyone_has_a_share = [&] {
        std::size_t all = 0;
        for (const auto& worker : workers_) {
            const std::size_t partitions = worker->status().partitions;
            if (partitions < share) return false;
            all += partitions;
        }
        return all == static_cast<std::size_t>(workload.partitions);
    };
    try {
        start(worker_options(place, workload, plan, tables), plan.workers);
        wait_until(everyone_has_a_share, "for the workers to share the partitions");
    } catch (...) {
        gate_->open();
        throw;
    }
}

void Workers::start(WorkerOptions options, int count) {
    options.observer = gate_.get();
    for (int number = 0; number < count; ++number) {
        options.number = number;
        workers_.push_back(std::make_unique<Worker>(options));
        workers_.back()->start();
    }
}

Workers::~Workers() {
    gate_->open();
    workers_.clear();
}

void Workers::begin() { gate_->open(); }

Totals Workers::totals() const {
    Totals sum;
    for (const auto& worker : workers_) {
        const Worker::Status status = worker->status();
        if (!status.halted.empty()) {
            throw std::runtime_error("a worker has stopped: " + status.halted.front().halt.text);
        }
        sum += status.totals;
    }
    return sum;
}

std::size_t Workers::reading() const {
    std::size_t sum = 0;
    for (const auto& worker : workers_) sum += worker->status().reading;
    return sum;
}

std::vector<WorkerState> Workers::states() const {
    std::vector<WorkerState> states;
    for (const auto& worker : workers_) {
        states.push_back({static_cast<int>(states.size()), worker->status(), ""});
    }
    return states;
}

CommitTimes Workers::take_times() { return gate_->take_times(); }

void Workers::stop() {
    std::vector<std::jthread> threads;
    for (const auto& worker : workers_) threads.emplace_back([&] { worker->stop(); });
}

double first_commit(const Place& place, const Workload& workload, const Plan& plan,
                    const Tables& tables) {
    Workers workers(place, workload, plan, tables);
    const auto let_go = Clock::now();
    workers.begin();
    wait_until([&] { return workers.totals().passed() > 0; }, "for the first commit");
    const double seconds = seconds_since(let_go);
    workers.stop();
    return seconds;
}

Measurement consume(const Place& place, const Workload& workload, const Plan& plan, Tables& tables,
                    std::int64_t messages, const std::function<void()>& meanwhile) {
    tables.checkpoint();
    Workers workers(place, workload, plan, tables);
    workers.begin();
    const auto warm =
        std::max(static_cast<std::int64_t>(static_cast<double>(messages) * plan.not_measured),
                 std::int64_t{1});
    wait_until([&] { return workers.totals().passed() >= warm; }, "for the first messages");
    workers.take_times();
    const auto begin = Clock::now();
    const std::int64_t passed = workers.totals().passed();
    if (passed >= messages) throw std::runtime_error("too few messages to measure anything");
    const CpuTimes cpu = place.cpu.read();
    const std::int64_t wal = tables.wal();
    std::optional<Scraper> scraper;
    if (plan.scrape_every > 0s) {
        scraper.emplace(
            group_of(workload, tables), tables.options(), [&workers] { return workers.states(); },
            plan.scrape_every);
    }
    meanwhile();
    wait_until([&] { return workers.totals().passed() >= messages; }, "for the messages");
    Measurement measurement;
    measurement.seconds = seconds_since(begin);
    measurement.cpu = place.cpu.read() - cpu;
    measurement.messages = workers.totals().passed() - passed;
    measurement.wal_bytes = tables.wal() - wal;
    measurement.times = workers.take_times();
    if (scraper) {
        measurement.scrapes = scraper->scrapes();
        if (scraper->failures() > 0) throw std::runtime_error("metrics could not be scraped");
    }
    scraper.reset();
    workers.stop();
    measurement.applied = workers.totals().applied;
    return measurement;
}

}  // namespace onceward::bench
