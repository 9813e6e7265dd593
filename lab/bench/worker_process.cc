#include "lab/bench/worker_process.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "dedup/fence/fence.h"
#include "lab/bench/loaded_ledger.h"
#include "lab/embedded/product_program.h"
#include "lab/queries.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;

// Text in JSON's quotes is text in YAML's.
std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

std::string ledger_text(const ProcessSetup& setup) {
    const std::string name = setup.ledger.empty() ? "" : ", name: " + setup.ledger;
    return std::string("    ledger: {store: ") + (setup.claims == Claims::table ? "table" : "log") +
           name + "}\n";
}

std::string configuration(const Place& place, const ProcessSetup& setup, const Tables& tables) {
    std::string text = "group: " + quoted(setup.group) +
                       "\nworkers: " + std::to_string(setup.workers) +
                       "\nkafka: {bootstrap_servers: " + quoted(place.bootstrap_servers) +
                       ", properties: {session.timeout.ms: \"" +
                       std::to_string(std::chrono::milliseconds(setup.session_timeout).count()) +
                       "\"}}\npostgres: {dsn: " + quoted(tables.options().dsn.reveal()) +
                       ", schema: " + tables.options().schema +
                       ", application_name: onceward-bench-process}\n"
                       "admin: {listen: off}\n"
                       "topics:\n";
    for (const ProcessSetup::Topic& topic : setup.topics) {
        text += "  - name: " + topic.name +
                "\n    key: {preset: idempotency-key, operation: " + quoted(tables.id()) + "}\n" +
                ledger_text(setup) + "    sink:\n      table: " + topic.table +
                "\n      columns: {event_id: /event_id, account: /account, amount_minor: "
                "/amount_minor, currency: /currency, created_at: /created_at}\n";
    }
    return text;
}

ProcessSetup one_topic(const Workload& topic, const Tables& tables, Claims claims,
                       std::chrono::seconds session_timeout) {
    ProcessSetup setup;
    setup.group = group_of(topic, tables);
    setup.topics = {{topic.topic}};
    setup.ledger = ledger_name;
    setup.claims = claims;
    setup.session_timeout = session_timeout;
    return setup;
}

// By their owners; a fence is made before it is taken.
bool fences_taken(Tables& tables, const Workload& topic) {
    Fences fences(group_of(topic, tables), "bench");
    for (int number = 0; number < topic.partitions; ++number) {
        const auto fence = fences.look(tables.connection(), topic.topic, Partition{number});
        if (!fence || fence->epoch == Epoch{0}) return false;
    }
    return true;
}

ChildOptions command(const demo::TemporaryFolder& folder, const std::string& text) {
    const auto file = folder.path() / "onceward.yaml";
    std::ofstream(file) << text;
    ChildOptions options;
    options.command = {product_program().string(), "run", "-c", file.string()};
    options.output = folder.path() / "worker.log";
    return options;
}

}  // namespace

WorkerProcess::WorkerProcess(const Place& place, const ProcessSetup& setup, const Tables& tables)
    : options_(command(folder_, configuration(place, setup, tables))), process_(options_) {}

WorkerProcess::WorkerProcess(const Place& place, const Workload& topic, Tables& tables,
                             Claims claims, std::chrono::seconds session_timeout)
    : WorkerProcess(place, one_topic(topic, tables, claims, session_timeout), tables) {
    wait_until([&] { return fences_taken(tables, topic); }, "for a worker's fences");
}

void WorkerProcess::wait_until(const std::function<bool()>& holds, std::string_view what) {
    bench::wait_until(
        [&] {
            if (!process_.running()) {
                throw std::runtime_error("the worker ended: " + tail_of(*options_.output));
            }
            return holds();
        },
        what);
}

ProcessCpu WorkerProcess::cpu(Tables& tables) const {
    ProcessCpu cpu{cpu_seconds_of(process_.pid()), 0};
    const QueryResult sessions = tables.connection().execute(lab_sql::bench_reader_sessions);
    for (int row = 0; row < sessions.rows(); ++row) {
        cpu.sessions += cpu_seconds_of(static_cast<pid_t>(sessions.integer(row, 0)));
    }
    return cpu;
}

void WorkerProcess::end(int signal) {
    process_.send(signal);
    process_.wait(30s);
}

}  // namespace onceward::bench
