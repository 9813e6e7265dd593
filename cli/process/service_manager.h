#pragma once
// What a process reports to the service manager that started it: systemd, for a unit of Type=notify
// (sd_notify(3)). Without one, that is without $NOTIFY_SOCKET, every call does nothing. Used by the
// thread of the run loop. Throws nothing: a manager that does not listen must not end the process.

#include <chrono>
#include <functional>
#include <string>

#include "cli/admin/verdicts.h"
#include "cli/process/worker_slots.h"

namespace onceward {

// What `systemctl status` shows: the first reason why the process is not ready, on one line.
std::string status_line(const HealthVerdict& readiness);

class ServiceManager {
  public:
    using Clock = std::chrono::steady_clock;
    // Reads the environment: whether there is a manager, and how often it wants a sign of life.
    ServiceManager();
    // Once the start is complete. What waits for an outage to end is started as well.
    void ready();
    // Before a reload of the configuration; ready() says that it is done.
    void reloading();
    // To be called again and again. Sends the status if it changed, and a sign of life if the
    // process is alive by liveness(): without one for WatchdogSec= the manager ends and restarts
    // it. `complete` adds to the process's status what the slots do not know; it and the slots are
    // asked only if something is due.
    void tend(const WorkerSlots& slots, const std::function<void(ProcessStatus&)>& complete);
    // The same for a status at a time.
    void tend(const std::function<ProcessStatus()>& process, Clock::time_point now);
    // The drain begins, and takes this long at most. The process ends itself after that time, so
    // the manager needs no signs of life any more and must not kill it earlier.
    void stopping(std::chrono::milliseconds longest);

  private:
    std::chrono::microseconds watchdog_{0};  // zero: no sign of life is wanted
    bool managed_ = false;
    Clock::time_point next_{};
    std::string status_;
};

}  // namespace onceward
