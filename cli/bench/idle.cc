#include "cli/bench/idle.h"

#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "cli/demo/stage.h"
#include "cli/embedded/child_process.h"
#include "dedup/fence.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;

// Text in JSON's quotes is text in YAML's.
std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

std::string configuration(const Place& place, const Workload& topic, const Tables& tables) {
    return "group: " + quoted(tables.id()) +
           "\nkafka: {bootstrap_servers: " + quoted(place.bootstrap_servers) +
           "}\npostgres: {dsn: " + quoted(tables.options().dsn.reveal()) +
           ", schema: " + tables.options().schema +
           "}\n"
           "admin: {listen: off}\n"
           "topics:\n"
           "  - name: " +
           topic.topic +
           "\n"
           "    key: {preset: idempotency-key}\n"
           "    ledger: {store: log}\n"
           "    sink:\n"
           "      table: " +
           plain_table +
           "\n"
           "      columns: {event_id: /event_id, account: /account, amount_minor: /amount_minor, "
           "currency: /currency, created_at: /created_at}\n";
}

double resident_megabytes(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/statm");
    std::int64_t all = 0;
    std::int64_t resident = 0;
    if (!(file >> all >> resident)) throw std::runtime_error("the idle worker is gone");
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

// By their owners; a fence is made before it is taken.
bool fences_taken(Tables& tables, const Workload& topic) {
    Fences fences(tables.id(), "bench");
    for (int number = 0; number < topic.partitions; ++number) {
        const auto fence = fences.look(tables.connection(), topic.topic, Partition{number});
        if (!fence || fence->epoch == Epoch{0}) return false;
    }
    return true;
}

}  // namespace

IdleCost run_idle(const Place& place, const Workload& empty_topic, Tables& tables,
                  std::chrono::milliseconds duration) {
    const demo::TemporaryFolder folder;
    const auto file = folder.path() / "onceward.yaml";
    std::ofstream(file) << configuration(place, empty_topic, tables);
    ChildOptions options;
    options.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "run", "-c",
                       file.string()};
    options.output = folder.path() / "worker.log";
    ChildProcess worker(options);
    wait_until(
        [&] {
            if (!worker.running()) {
                throw std::runtime_error("the idle worker ended: " + tail_of(*options.output));
            }
            return fences_taken(tables, empty_topic);
        },
        "for an idle worker's fences");
    // What a start leaves to be done is over by then.
    std::this_thread::sleep_for(duration / 5);
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds_of(worker.pid());
    std::this_thread::sleep_for(duration);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    IdleCost cost;
    cost.percent_of_a_core = (cpu_seconds_of(worker.pid()) - cpu) / took.count() * 100;
    cost.megabytes = resident_megabytes(worker.pid());
    worker.send(SIGTERM);
    worker.wait(30s);
    return cost;
}

}  // namespace onceward::bench
