#include "cli/process/service_manager.h"

#include <systemd/sd-daemon.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "dedup/base/text.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds status_every = 1s;
constexpr std::size_t longest_status = 512;

void send(const std::string& lines) { static_cast<void>(sd_notify(0, lines.c_str())); }

std::string microseconds(std::chrono::microseconds duration) {
    return std::to_string(duration.count());
}

// The manager compares it with its own clock, to tell this reload from an earlier one.
std::chrono::microseconds monotonic_time() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::chrono::seconds(now.tv_sec) +
           std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace

std::string status_line(const HealthVerdict& readiness) {
    if (readiness.good()) return "ready";
    const std::size_t more = readiness.reasons.size() - 1;
    // A line break in a server's message would begin another assignment, such as MAINPID=.
    return "not ready: " + safe_value(readiness.reasons.front(), longest_status) +
           (more == 0 ? "" : " (and " + std::to_string(more) + " more)");
}

ServiceManager::ServiceManager() : managed_(std::getenv("NOTIFY_SOCKET") != nullptr) {
    std::uint64_t every = 0;
    if (managed_ && sd_watchdog_enabled(0, &every) > 0) {
        watchdog_ = std::chrono::microseconds(every);
    }
}

void ServiceManager::ready() { send("READY=1"); }

void ServiceManager::reloading() {
    send("RELOADING=1\nMONOTONIC_USEC=" + microseconds(monotonic_time()));
}

void ServiceManager::tend(const WorkerSlots& slots,
                          const std::function<void(ProcessStatus&)>& complete) {
    const auto process = [&] {
        ProcessStatus status = slots.status();
        complete(status);
        return status;
    };
    tend(process, Clock::now());
}

void ServiceManager::tend(const std::function<ProcessStatus()>& process, Clock::time_point now) {
    if (!managed_ || now < next_) return;
    // A third: two signs may be late before the manager acts.
    next_ = now + (watchdog_ == 0us ? status_every : std::min(status_every, watchdog_ / 3));
    const ProcessStatus status = process();
    std::string lines;
    if (std::string line = status_line(readiness(status)); line != status_) {
        lines = "STATUS=" + line + "\n";
        status_ = std::move(line);
    }
    // DANGER: only of a process that lives. A sign of life at any time would keep a worker whose
    // reader is stuck, with its partitions, for ever.
    if (watchdog_ != 0us && liveness(status).good()) lines += "WATCHDOG=1\n";
    if (!lines.empty()) send(lines);
}

void ServiceManager::stopping(std::chrono::milliseconds longest) {
    const std::string limit = microseconds(longest);
    std::string lines = "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=" + limit;
    if (watchdog_ != 0us) lines += "\nWATCHDOG=1\nWATCHDOG_USEC=" + limit;
    send(lines);
}

}  // namespace onceward
