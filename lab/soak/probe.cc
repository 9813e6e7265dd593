#include "lab/soak/probe.h"

#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

#include "cli/admin/admin_server.h"
#include "lab/bench/cpu.h"
#include "lab/bench/machine.h"
#include "lab/embedded/child_process.h"
#include "lab/queries.h"

namespace onceward::soak {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr double million = 1e6;

std::string folder_of(pid_t process) { return "/proc/" + std::to_string(process); }

double resident_mb(pid_t process) {
    return bench::kilobytes_in(folder_of(process) + "/status", "VmRSS") * 1024 / million;
}

// Shared memory counts a share in each process that has it, so that the sum has it once.
double proportional_mb(pid_t process) {
    return bench::kilobytes_in(folder_of(process) + "/smaps_rollup", "Pss") * 1024 / million;
}

double entries_of(const std::string& folder) {
    std::error_code gone;
    double count = 0;
    for (fs::directory_iterator at(folder, gone), end; !gone && at != end; at.increment(gone)) {
        ++count;
    }
    return count;
}

// Files come and go while they are counted.
double folder_mb(const fs::path& folder) {
    std::error_code gone;
    double bytes = 0;
    for (fs::recursive_directory_iterator at(folder, gone), end; !gone && at != end;
         at.increment(gone)) {
        std::error_code none;
        const auto size = at->is_regular_file(none) ? at->file_size(none) : 0;
        if (!none) bytes += static_cast<double>(size);
    }
    return bytes / million;
}

struct Family {
    double mb = 0;
    double files = 0;
};

Family family_of(pid_t parent) {
    std::vector<pid_t> processes = children_of(parent);
    processes.push_back(parent);
    Family sum;
    for (const pid_t process : processes) {
        sum.mb += proportional_mb(process);
        sum.files += entries_of(folder_of(process) + "/fd");
    }
    return sum;
}

// The samples of a metric: labels with their brackets, and the value.
template <class Each>
void each_sample(const std::string& metrics, std::string_view name, const Each& each) {
    std::istringstream lines(metrics);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(name)) continue;
        const std::size_t end = line.rfind(' ');
        if (end == std::string::npos || end < name.size()) continue;
        const std::string labels = line.substr(name.size(), end - name.size());
        if (labels.empty() || labels.front() == '{') each(labels, std::stod(line.substr(end + 1)));
    }
}

}  // namespace

double metric_sum(const std::string& metrics, std::string_view name, std::string_view label) {
    double sum = 0;
    each_sample(metrics, name, [&](const std::string& labels, double value) {
        if (labels.find(label) != std::string::npos) sum += value;
    });
    return sum;
}

Buckets buckets_of(const std::string& metrics, const std::string& name) {
    static const std::string bound = "le=\"";
    Buckets buckets;
    each_sample(metrics, name + "_bucket", [&](const std::string& labels, double value) {
        const std::size_t at = labels.find(bound);
        if (at != std::string::npos) buckets[std::stod(labels.substr(at + bound.size()))] += value;
    });
    return buckets;
}

double quantile_between(const Buckets& begin, const Buckets& end, double share) {
    if (end.empty()) return 0;
    const auto since = [&](const Buckets::value_type& bucket) {
        const auto found = begin.find(bucket.first);
        return bucket.second - (found == begin.end() ? 0 : found->second);
    };
    const double all = since(*end.rbegin());
    if (all <= 0) return 0;
    double last = 0;
    for (const auto& bucket : end) {
        if (std::isfinite(bucket.first)) last = bucket.first;
        if (since(bucket) >= share * all) break;
    }
    return last;
}

Sample Probe::take(double seconds) {
    const std::string metrics = ask_admin_port(watched_.admin, "/metrics", 10s).body;
    const QueryResult sizes = connection_.query(lab_sql::soak_sizes, {});
    const auto mb = [&](int column) {
        return static_cast<double>(sizes.integer(0, column)) / million;
    };
    const bench::CpuTimes cpu =
        bench::CpuMeter{watched_.worker, watched_.postgres, std::nullopt}.read();
    const Counters now{seconds,
                       cpu.worker,
                       cpu.postgres,
                       mb(2),
                       metric_sum(metrics, "onceward_messages_total"),
                       buckets_of(metrics, "onceward_batch_duration_seconds")};
    const double passed = std::max(now.seconds - before_.seconds, 0.001);
    const Family postgres = family_of(watched_.postgres);
    Sample sample{seconds,
                  {resident_mb(watched_.worker),
                   entries_of(folder_of(watched_.worker) + "/fd"),
                   entries_of(folder_of(watched_.worker) + "/task"),
                   100 * (now.worker_cpu - before_.worker_cpu) / passed,
                   metric_sum(metrics, "onceward_claims_memory_bytes") / million,
                   postgres.mb,
                   postgres.files,
                   100 * (now.postgres_cpu - before_.postgres_cpu) / passed,
                   mb(0),
                   mb(1),
                   (now.wal - before_.wal) / passed,
                   mb(3),
                   static_cast<double>(sizes.integer(0, 4)),
                   static_cast<double>(sizes.integer(0, 5)),
                   mb(6),
                   folder_mb(watched_.kafka_log),
                   (now.messages - before_.messages) / passed,
                   metric_sum(metrics, "onceward_lag_messages"),
                   1000 * quantile_between(before_.commits, now.commits, 0.5),
                   1000 * quantile_between(before_.commits, now.commits, 0.99)}};
    before_ = now;
    return sample;
}

}  // namespace onceward::soak
