#pragma once
// What a process reports to the service manager that started it: systemd, for a unit of Type=notify
// (sd_notify(3)). Without one, that is without $NOTIFY_SOCKET, every call does nothing. Used by the
// thread of the run loop. Throws nothing and waits for nothing: a manager that does not read must
// not end the process, nor keep it from its work or from its end.
//
// What the manager must hear (that the process is ready, reloads or stops) is kept until its socket
// takes it. Only the last state is kept, with what that needs: two messages at most. The status is
// sent again until it is taken. A sign of life that is not taken is lost, as the next one says the
// same.

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "cli/admin/verdicts.h"
#include "cli/process/manager_socket.h"
#include "cli/process/worker_slots.h"

namespace onceward {

// What `systemctl status` shows: the first reason why the process is not ready, on one line.
std::string status_line(const HealthVerdict& readiness);

class ServiceManager {
  public:
    using Clock = std::chrono::steady_clock;
    // Reads the environment: whether there is a manager, and how often it wants a sign of life.
    ServiceManager();
    // Call it once the start is complete, even if something still waits for an outage to end.
    void ready();
    // Call it before a reload of the configuration; ready() says that it is done.
    void reloading();
    // To be called again and again. Sends the status if it changed, and a sign of life if the
    // process is alive by liveness(): without one for WatchdogSec= the manager ends and restarts
    // it. `complete` adds to the process's status what the slots do not know; it and the slots are
    // asked only if something is due.
    void tend(const WorkerSlots& slots, const std::function<void(ProcessStatus&)>& complete);
    // The same for a status at a time.
    void tend(const std::function<ProcessStatus()>& process, Clock::time_point now);
    // The drain begins, and takes this long at most. The process ends itself after that time, so
    // the manager needs no signs of life any more and must not kill it earlier. REQUIRES: it is
    // the last call. A thread sends what was not taken at once, until this object ends.
    void stopping(std::chrono::milliseconds longest);

  private:
    // True if nothing has to be sent any more.
    bool send_kept();
    std::chrono::microseconds watchdog_{0};  // zero: no sign of life is wanted
    std::optional<ManagerSocket> socket_;    // nullopt: there is no manager
    Clock::time_point next_{};
    std::string status_;  // the last one that was taken
    std::deque<std::string> kept_;
    std::jthread sender_;  // after stopping(); the last member: it uses the others
};

}  // namespace onceward
