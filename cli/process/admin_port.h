#pragma once
// The admin port of `onceward run`: opened as configured. Used by one thread. If the port is not
// available, that is logged once and tried again: messages matter more than their observers.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cli/admin/admin_server.h"
#include "cli/admin/group_totals.h"
#include "cli/configuration/current.h"
#include "cli/page/page.h"
#include "cli/process/worker_slots.h"

namespace onceward {

class AdminPort {
  public:
    // The slots outlive it.
    // `servers`: for the group's durable totals, which are read when they are asked for, but not
    // more often than `totals_every`. A shorter time shows them sooner and asks PostgreSQL more
    // often. `complete` adds what the slots do not know, in the server's own threads. `act`: for
    // callers whom `access` lets operate. `page`: what the page shows, which outlives it; null:
    // there is no page.
    AdminPort(std::optional<ListenAddress> address, const WorkerSlots& slots,
              const std::vector<ConnectionOptions>& servers,
              std::chrono::milliseconds totals_every = std::chrono::seconds(10),
              std::function<void(ProcessStatus&)> complete = {}, AdminConfiguration access = {},
              AdminActs act = {}, const CurrentConfiguration* page = nullptr);
    ~AdminPort();
    // To be called again and again: opens the port as long as it is not open.
    void tend();
    // Where it listens; nullopt while it does not.
    std::optional<ListenAddress> address() const;

  private:
    ProcessStatus status() const;
    std::string metrics();
    std::optional<ListenAddress> address_;
    const WorkerSlots& slots_;
    std::vector<std::unique_ptr<GroupTotals>> totals_;  // of each server
    std::function<void(ProcessStatus&)> complete_;
    AdminConfiguration access_;
    AdminActs act_;
    std::unique_ptr<AdminPage> page_;
    std::unique_ptr<AdminServer> server_;
    std::chrono::steady_clock::time_point next_try_{};
    bool told_ = false;
};

}  // namespace onceward
