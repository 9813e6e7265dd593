#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <thread>

#include "cli/composition/composition.h"
#include "cli/composition/memory_budget.h"
#include "cli/composition/server_upkeep.h"
#include "cli/composition/trace_exporter.h"
#include "cli/configuration/databases.h"
#include "cli/operate/admin_acts.h"
#include "cli/process/admin_port.h"
#include "cli/process/reload.h"
#include "cli/process/serve_routes.h"
#include "cli/process/service_manager.h"
#include "cli/process/slot_worker.h"
#include "cli/process/worker_slots.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/stop_request.h"
#include "consumer/watch/memory_suspect.h"
#include "dedup/base/expects.h"
#include "dedup/base/logging.h"
#include "dedup/operator/interventions.h"
#include "dedup/policy/failure.h"
#include "dedup/server/server_check.h"
#include "dedup/server/server_session.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto report_every = 60s;
constexpr auto totals_every = 10s;

// Warns of rows that no relay sends, since the last outbox left the configuration.
void warn_of_outbox(Connection& connection, const Configuration& configuration) {
    if (make_relay_options(configuration)) return;
    const QueryResult totals = connection.query(sql::outbox_totals, {configuration.group});
    if (totals.integer(0, 0) == 0) return;
    log_warning("outbox.not_relayed",
                {{"group", configuration.group}, {"rows", totals.integer(0, 0)}});
}

// If a server is away, or read-only in a fail-over, the workers wait for it. One that is there must
// have the right schema before anything runs.
void check_schema(const Configuration& configuration) try {
    try {
        ServerSession session({.connection = configuration.postgres});
        warn_of_outbox(session.open(), configuration);
    } catch (const PostgresError& error) {
        switch (meaning_of(error)) {
            case FailureAction::retry:
            case FailureAction::reconnect:
                log_warning("postgres.unreachable",
                            {{"database", configuration.database}, {"error", error.what()}});
                return;
            case FailureAction::reject:
            case FailureAction::stop: throw;
        }
    }
} catch (const std::runtime_error& error) {
    if (configuration.databases.empty()) throw;
    throw std::runtime_error(database_text(configuration.database) + ": " + error.what());
}

// A PostgreSQL server that topics or routes use.
struct Server {
    Server(const Configuration& whole, const Configuration& part, StepObserver* observer,
           Tracer* tracer)
        : configuration(part), upkeep(whole, part, make_relay_options(part), observer, tracer) {}
    Configuration configuration;  // of the run loop's thread
    ServerUpkeep upkeep;
};
using Servers = std::vector<std::unique_ptr<Server>>;

// What every worker has; null: there is none. They outlive the workers.
struct Watchers {
    StepObserver* observer;
    Tracer* tracer;
    const Registries& registries;
};

// A worker for this part of a configuration, which the server has or will have. It does not start.
std::unique_ptr<SlotWorker> make_worker(Server& server, const Configuration& part,
                                        std::size_t number, const Watchers& watchers) {
    WorkerOptions options = make_worker_options(part, static_cast<int>(number),
                                                watchers.registries, watchers.tracer);
    options.log_windows = server.upkeep.log_windows();
    options.observer = watchers.observer;
    options.guard = &server.upkeep.guard();
    return make_slot_worker(std::move(options));
}

// Starts the workers of these servers again with the new configuration. All that may fail comes
// first, also the making of the new workers: so a process continues either with its old
// configuration or with the new one. No worker begins before this returns, as the same thread calls
// tend().
void apply(const ReloadPlan& plan, const Servers& servers, const std::vector<Server*>& hosts,
           WorkerSlots& slots, const Watchers& watchers) {
    std::map<const Server*, Configuration> parts;
    for (Configuration& part : used_databases(*plan.next)) {
        if (!plan.servers.contains(part.database)) continue;
        const auto server = std::ranges::find_if(
            servers, [&](const auto& one) { return one->configuration.database == part.database; });
        expects(server != servers.end(), "a reload stays on the servers of before");
        parts.emplace(server->get(), std::move(part));
    }
    std::vector<std::size_t> numbers;
    for (std::size_t number = 0; number < hosts.size(); ++number) {
        if (parts.contains(hosts[number])) numbers.push_back(number);
    }
    std::map<const Server*, std::vector<LedgerOptions>> ledgers;
    for (const auto& [server, part] : parts) {
        ledgers.emplace(server, ledgers_on(*plan.next, part.database));
    }
    slots.renew(numbers, [&](std::size_t number) {
        return make_worker(*hosts[number], parts.at(hosts[number]), number, watchers);
    });
    for (const auto& server : servers) {
        const auto part = parts.find(server.get());
        if (part == parts.end()) continue;
        server->configuration = std::move(part->second);
        server->upkeep.use(std::move(ledgers.at(server.get())));
    }
}

void report(const WorkerState& worker) {
    if (!worker.status) return;
    const Worker::Status& status = *worker.status;
    log_info("worker.status", {{"worker", worker.number},
                               {"partitions", status.partitions},
                               {"reading", status.reading},
                               {"applied", status.totals.applied},
                               {"duplicates", status.totals.duplicates},
                               {"conflicts", status.totals.conflicts},
                               {"dead_lettered", status.totals.dead_lettered},
                               {"skipped", status.totals.skipped},
                               {"below_fence", status.counts.below_fence}});
    for (const auto& [partition, reason] : status.paused) {
        log_info("partition.paused", {{"topic", partition.topic},
                                      {"partition", partition.partition.raw()},
                                      {"reason", reason}});
    }
    for (const HaltedPartition& halted : status.halted) log_halted(halted);
}

// Checks the process's memory against its budget. When the budget is exceeded, records what the
// process was fetching. Used by the thread of the run loop; borrows what it is given.
class MemoryWatch {
  public:
    MemoryWatch(const CurrentConfiguration& current, const WorkerSlots& slots)
        : current_(current), slots_(slots), budget_(memory_budget(current.get()->memory_budget)) {}
    // nullopt: nothing is watched.
    std::optional<std::int64_t> budget() const { return budget_; }
    // True once the budget was exceeded, after which the process has to leave. The first time it
    // also logs that and notes the suspect.
    bool exceeded() {
        if (exceeded_ || !budget_) return exceeded_;
        resident_ = memory_.bytes().value_or(0);
        if (resident_ <= *budget_) return false;
        exceeded_ = true;
        suspect_ = slots_.suspect();
        log_error("memory.budget_exceeded", {{"resident", resident_}, {"budget", *budget_}});
        note_suspect();
        return true;
    }
    // How long the run loop may pause before it asks again.
    std::chrono::milliseconds pause() const {
        return next_count(budget_.value_or(std::numeric_limits<std::int64_t>::max()) - resident_);
    }
    // Called again after the workers were drained: they may have moved the suspect's fence.
    void note_suspect() const {
        if (!suspect_) return;
        const TopicPartition& partition = suspect_->partition;
        try {
            const auto now = current_.get();
            Connection connection(database_of(*now, partition.topic).postgres);
            check_server(connection);
            const auto offset = onceward::note_suspect(connection, now->group, partition,
                                                       {resident_, *budget_}, suspect_->record);
            if (!offset) return;
            log_error("memory.suspect", {{"topic", partition.topic},
                                         {"partition", partition.partition.raw()},
                                         {"offset", offset->raw()}});
        } catch (const std::exception& error) {  // a ServerRefused too: the process leaves anyway
            log_error("memory.suspect_not_noted", {{"topic", partition.topic},
                                                   {"partition", partition.partition.raw()},
                                                   {"error", error.what()}});
        }
    }

  private:
    const CurrentConfiguration& current_;
    const WorkerSlots& slots_;
    const ResidentMemory memory_;
    std::optional<std::int64_t> budget_;
    std::optional<FetchSuspect> suspect_;
    std::int64_t resident_ = 0;
    bool exceeded_ = false;
};

using CompleteStatus = std::function<void(ProcessStatus&)>;

void run_until_stopped(WorkerSlots& slots, AdminPort& admin, ServiceManager& manager,
                       MemoryWatch& memory, Reloads& reloads, const CompleteStatus& complete) {
    auto next_report = std::chrono::steady_clock::now() + report_every;
    while (!stop_requested() && !memory.exceeded()) {
        sleep_until_signal(memory.pause());
        if (HangUpNoted::taken()) reloads.ask("SIGHUP");
        slots.tend();
        reloads.tend();
        admin.tend();
        manager.tend(slots, complete);
        if (std::chrono::steady_clock::now() < next_report) continue;
        next_report += report_every;
        for (const WorkerState& worker : slots.status().workers) report(worker);
    }
}

Servers make_servers(const Configuration& whole, const std::vector<Configuration>& parts,
                     const Watchers& watchers) {
    Servers servers;
    for (const Configuration& part : parts) {
        servers.push_back(
            std::make_unique<Server>(whole, part, watchers.observer, watchers.tracer));
    }
    return servers;
}

// By the worker's number. A worker is on one server only: if that cannot be reached, the topics of
// the others continue. A server may have routes only.
std::vector<Server*> hosts_of_workers(const Servers& servers) {
    std::vector<Server*> hosts;
    for (const auto& server : servers) {
        const Configuration& part = server->configuration;
        if (!part.topics.empty()) hosts.insert(hosts.end(), part.workers, server.get());
    }
    return hosts;
}

// Null if no route is on the default server.
ServerUpkeep* upkeep_of_routes(const Servers& servers) {
    for (const auto& server : servers) {
        if (server->configuration.database == default_database) return &server->upkeep;
    }
    return nullptr;
}

}  // namespace

int run_workers(const Configuration& configuration, StepObserver* observer) {
    const StopRequest signals;
    const HangUpNoted hang_up;
    const std::vector<Configuration> parts = used_databases(configuration);
    for (const Configuration& part : parts) check_schema(part);
    std::jthread deadline;  // it outlives what it waits for
    // Declared before what records spans, so that it sends the last of them.
    const std::unique_ptr<TraceExporter> traces = make_trace_exporter(configuration);
    Tracer* const tracer = tracer_of(traces);
    const Registries registries = make_registries(configuration);
    const Watchers watchers{observer, tracer, registries};
    const Servers servers = make_servers(configuration, parts, watchers);
    const std::vector<Server*> hosts = hosts_of_workers(servers);
    std::vector<ConnectionOptions> connections;
    for (const Configuration& part : parts) connections.push_back(part.postgres);
    std::vector<std::string> of_workers;
    for (const Server* host : hosts) of_workers.push_back(host->configuration.database);
    WorkerSlots slots(configuration.group, of_workers, [&](std::size_t number) {
        return make_worker(*hosts[number], hosts[number]->configuration, number, watchers);
    });
    slots.start();
    CurrentConfiguration current(configuration);
    MemoryWatch memory(current, slots);
    log_info("onceward.started", {{"group", configuration.group},
                                  {"workers", of_workers.size()},
                                  {"memory_budget", memory.budget().value_or(0)}});
    std::optional<GatewayRun> gateway;
    if (!configuration.http.routes.empty()) {
        gateway.emplace(configuration, observer, upkeep_of_routes(servers), tracer);
    }
    std::atomic<bool> draining = false;  // routes drain before workers do
    ServiceManager manager;
    Reloads reloads(current,
                    {.apply = [&](auto& plan) { apply(plan, servers, hosts, slots, watchers); },
                     .applied = [&] { return !slots.renewing(); },
                     .begins = [&] { manager.reloading(); },
                     .ends = [&] { manager.ready(); }});
    const auto complete = [&](ProcessStatus& status) {
        status.reload = reloads.state();
        status.draining = status.draining || draining;
        for (const auto& server : servers) server->upkeep.complete(status);
        if (gateway) gateway->complete(status);
        for (const auto& [name, registry] : registries) {
            status.registries.push_back(registry->counts());
        }
        if (traces) status.traces = traces->tracer().counts();
        status.memory_budget = memory.budget();
    };
    AdminPort admin(
        configuration.admin, slots, connections, totals_every, complete, configuration.admin_access,
        admin_acts(current, reload_act(reloads, longest_drain(configuration))), &current);
    manager.ready();

    run_until_stopped(slots, admin, manager, memory, reloads, complete);
    draining = true;
    log_info("onceward.draining");
    deadline = leave_in_time(configuration, memory.exceeded() ? exit_memory : exit_failure);
    manager.stopping(longest_drain(configuration));
    if (gateway) gateway->stop(configuration.drain_timeout);
    slots.drain();
    if (memory.exceeded()) memory.note_suspect();
    log_info("onceward.stopped");
    return memory.exceeded() ? exit_memory : exit_ok;
}

}  // namespace onceward
