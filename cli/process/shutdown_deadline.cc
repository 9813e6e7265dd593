#include "cli/process/shutdown_deadline.h"

#include <algorithm>
#include <cstdlib>

#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"

namespace onceward {

constexpr std::chrono::seconds leave_within{15};

ShutdownDeadline::ShutdownDeadline(std::chrono::milliseconds limit, int code)
    : thread_([limit, code](const std::stop_token& stop) {
          sleep_unless(stop, limit);
          if (stop.stop_requested()) return;
          log_error("onceward.drain_overdue", {{"milliseconds", limit.count()}});
          std::_Exit(code);
      }) {}

std::chrono::milliseconds longest_end(const Configuration& configuration) {
    // A call is not broken off: what it did would be in doubt.
    std::chrono::milliseconds longest_call{0};
    for (const auto& [place, kept] : configuration.route_upstreams) {
        longest_call = std::max(longest_call, configuration.http.routes[place].upstream.timeout);
    }
    return configuration.drain_timeout + longest_call + configuration.postgres.statement_timeout +
           leave_within;
}

}  // namespace onceward
