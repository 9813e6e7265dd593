#pragma once
// What the routes answered, counted, for the process's metrics. Thread-safe.

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gateway/http.h"
#include "gateway/route_options.h"

namespace onceward {

struct RouteTraffic {
    std::string route;                     // `POST /orders/{id}`; '' of requests for no route
    std::map<int, std::int64_t> statuses;  // requests, by the status of their answer
    std::int64_t replayed = 0;             // those that got an earlier request's answer
    double seconds = 0;                    // from their last byte to their answer, in sum
};

class Traffic {
  public:
    explicit Traffic(const GatewayOptions& options);
    // `place`: the route's; none for none.
    void count(std::optional<std::size_t> place, const HttpResponse& response,
               std::chrono::steady_clock::duration took);
    std::vector<RouteTraffic> read() const;

  private:
    mutable std::mutex mutex_;
    std::vector<RouteTraffic> routes_;  // one more than there are
};

}  // namespace onceward
