#include "lab/bench/scraper.h"

#include <utility>

#include "cli/composition/memory_budget.h"
#include "dedup/base/backoff.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;

AdminServer::Sources only_metrics(std::function<std::string()> metrics) {
    return {[] { return HealthVerdict{}; }, [] { return HealthVerdict{}; }, std::move(metrics)};
}

}  // namespace

Scraper::Scraper(std::string group, const ConnectionOptions& postgres, States states,
                 std::chrono::seconds every)
    : group_(std::move(group)),
      states_(std::move(states)),
      totals_(postgres, group_, 10s),
      server_({"127.0.0.1", 0}, only_metrics([this] { return metrics(); })),
      thread_([this, every](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
              try {
                  const AdminAnswer answer = ask_admin_port(server_.address(), "/metrics", every);
                  const bool whole =
                      answer.body.find("onceward_end_to_end_latency_seconds_count") !=
                      std::string::npos;
                  ++(answer.status == 200 && whole ? scrapes_ : failures_);
              } catch (const AdminError&) {
                  ++failures_;
              }
              sleep_unless(stop, every);
          }
      }) {}

std::string Scraper::metrics() {
    ProcessStatus status;
    status.group = group_;
    status.workers = states_();
    status.resident_bytes = ResidentMemory().bytes();
    add(status.durable, totals_.get());
    return metrics_text(status);
}

}  // namespace onceward::bench
