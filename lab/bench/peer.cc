#include "lab/bench/peer.h"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "dedup/message/digest.h"
#include "dedup/postgres/connection_string.h"
#include "lab/embedded/child_process.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto longest_run = 30min;  // of one run

// What a program wrote; gone with the object.
struct Output {
    std::filesystem::path file = std::filesystem::temp_directory_path() /
                                 ("onceward-bench-peer-" + new_uuid().substr(0, 8) + ".log");
    Output() = default;
    ~Output() {
        std::error_code ignored;
        std::filesystem::remove(file, ignored);
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
};

// Messages go round the partitions.
std::string last_keys(const Workload& workload) {
    std::string keys;
    for (std::int64_t back = 1;
         back <= std::min<std::int64_t>(workload.partitions, workload.messages); ++back) {
        keys += (keys.empty() ? "" : ",") + key_of(workload, workload.messages - back);
    }
    return "{" + keys + "}";
}

ChildOptions child_options(const Place& place, const Workload& workload, const Peer& peer,
                           const Tables& tables, const Output& output) {
    const std::string ours = "ONCEWARD_PEER_";
    ChildOptions options;
    options.command = {peer.program.string()};
    options.output = output.file;
    options.environment = environment_of(tables.options().dsn);
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
             {"BROKERS", place.bootstrap_servers},
             {"TOPIC", workload.topic},
             {"GROUP", workload.topic + "-" + tables.id()},
             {"TABLE", peer.table},
             {"CLAIMS", claims_table},
             {"SCHEMA", tables.options().schema},
             {"MESSAGES", std::to_string(workload.messages)},
             {"LAST_KEYS", last_keys(workload)}}) {
        options.environment.push_back(ours + name + "=" + value);
    }
    return options;
}

[[noreturn]] void fail(const Peer& peer, const std::string& how, const Output& output) {
    throw std::runtime_error(peer.program.filename().string() + " " + how + ": " +
                             tail_of(output.file));
}

}  // namespace

Measurement consume_by_peer(const Place& place, const Workload& workload, const Peer& peer,
                            Tables& tables) {
    const std::int64_t rows = distinct_keys(workload);
    const auto warm = static_cast<std::int64_t>(static_cast<double>(rows) * peer.not_measured);
    tables.checkpoint();
    const Output output;
    ChildProcess child(child_options(place, workload, peer, tables, output));
    CpuMeter meter = place.cpu;
    meter.worker = child.pid();
    auto begin = Clock::now();
    std::int64_t arrived = 0;
    wait_until(
        [&] {
            std::this_thread::sleep_for(20ms);
            begin = Clock::now();
            arrived = tables.arrived(peer.table);
            if (arrived < warm && !child.running()) fail(peer, "ended too early", output);
            return arrived > warm;
        },
        "for the first rows of another program");
    if (arrived >= rows) throw std::runtime_error("too few messages to measure anything");
    const CpuTimes cpu = meter.read();
    const std::int64_t wal = tables.wal();
    if (!wait_until_gone(child.pid(), longest_run)) fail(peer, "did not end", output);
    Measurement measurement;
    measurement.seconds = seconds_since(begin);
    measurement.cpu = meter.read() - cpu;  // before it is reaped
    const std::optional<int> status = child.wait(1s);
    if (!status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 0) fail(peer, "failed", output);
    measurement.messages = workload.messages * (rows - arrived) / rows;
    measurement.wal_bytes = tables.wal() - wal;
    measurement.applied = rows;
    return measurement;
}

}  // namespace onceward::bench
