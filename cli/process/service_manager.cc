#include "cli/process/service_manager.h"

#include <systemd/sd-daemon.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <system_error>

#include "dedup/base/logging.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds status_every = 1s;
constexpr std::size_t longest_status = 512;

constexpr const char* ready_line = "READY=1";
constexpr std::chrono::milliseconds send_again_every = 100ms;  // whether this object ends

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

ServiceManager::ServiceManager() {
    const char* const address = std::getenv("NOTIFY_SOCKET");
    if (address == nullptr) return;
    socket_.emplace(address);
    std::uint64_t every = 0;
    if (sd_watchdog_enabled(0, &every) > 0) watchdog_ = std::chrono::microseconds(every);
}

bool ServiceManager::send_kept() {
    while (!kept_.empty() && socket_->send(kept_.front())) kept_.pop_front();
    return kept_.empty();
}

void ServiceManager::ready() {
    if (!socket_) return;
    if (kept_.empty() || kept_.back() != ready_line) kept_.emplace_back(ready_line);
    send_kept();
}

void ServiceManager::reloading() {
    if (!socket_) return;
    // An earlier reload that the manager has not heard of has ended. The last one counts for both.
    kept_ = {"RELOADING=1\nMONOTONIC_USEC=" + microseconds(monotonic_time())};
    send_kept();
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
    if (!socket_ || !send_kept() || now < next_) return;
    // A third of the time: two signs may be late before the manager acts.
    next_ = now + (watchdog_ == 0us ? status_every : std::min(status_every, watchdog_ / 3));
    const ProcessStatus status = process();
    std::string lines;
    std::string line = status_line(readiness(status));
    if (line != status_) lines = "STATUS=" + line + "\n";
    // DANGER: send it only for a process that lives. Sent at any time, it would keep a worker whose
    // reader is stuck, with its partitions, for ever.
    if (watchdog_ != 0us && liveness(status).good()) lines += "WATCHDOG=1\n";
    if (!lines.empty() && socket_->send(lines)) status_ = std::move(line);
}

void ServiceManager::stopping(std::chrono::milliseconds longest) {
    if (!socket_) return;
    const std::string limit = microseconds(longest);
    std::string lines = "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=" + limit;
    if (watchdog_ != 0us) lines += "\nWATCHDOG=1\nWATCHDOG_USEC=" + limit;
    kept_ = {std::move(lines)};
    if (send_kept()) return;
    // The drain needs the caller's thread. Without the message the manager would kill the process
    // during the drain.
    try {
        sender_ = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested() && !send_kept()) socket_->wait(send_again_every);
        });
    } catch (const std::system_error& error) {
        log_warning("onceward.manager_not_told", {{"error", error.what()}});
    }
}

}  // namespace onceward
