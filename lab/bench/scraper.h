#pragma once
// What Prometheus costs: an admin port in this process, and a thread that asks it for its metrics
// again and again, the group's durable totals included. For one thread; borrows the workers.
// Failures of a scrape are counted.

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cli/admin/admin_server.h"
#include "cli/admin/group_totals.h"

namespace onceward::bench {

class Scraper {
  public:
    using States = std::function<std::vector<WorkerState>()>;  // thread-safe

    Scraper(std::string group, const ConnectionOptions& postgres, States states,
            std::chrono::seconds every);
    // Answers that had the workers' metrics.
    int scrapes() const { return scrapes_; }
    int failures() const { return failures_; }

  private:
    std::string metrics();
    std::string group_;
    States states_;
    GroupTotals totals_;
    AdminServer server_;
    std::atomic<int> scrapes_{0};
    std::atomic<int> failures_{0};
    std::jthread thread_;  // the last one: it uses the others
};

}  // namespace onceward::bench
