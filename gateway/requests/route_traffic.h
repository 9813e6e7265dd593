#pragma once
// Counts what the routes answered, for the process's metrics. Thread-safe.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dedup/base/duration_histogram.h"
#include "dedup/base/mutex.h"
#include "dedup/policy/share.h"
#include "gateway/http/http.h"
#include "gateway/requests/route_options.h"

namespace onceward {

// How many requests of each route may be under way at once: each holds a connection, and one slow
// target must leave some for the others. Pure; used by one thread at a time.
class RequestRoom {
  public:
    // `bounds`: one for each route; 0 is a share of the free connections.
    RequestRoom(std::size_t connections, std::vector<std::size_t> bounds)
        : connections_(connections), bounds_(std::move(bounds)), held_(bounds_.size()) {}
    // Returns false if the route has as many requests under way as it may.
    bool enter(std::size_t route) {
        const std::size_t free = connections_ - std::min(connections_, total_);
        const std::size_t bound = bounds_[route] == 0 ? share_beside(free) : bounds_[route];
        if (held_[route] >= bound) return false;
        ++held_[route];
        ++total_;
        return true;
    }
    void leave(std::size_t route) {
        --held_[route];
        --total_;
    }
    std::size_t under_way(std::size_t route) const { return held_[route]; }

  private:
    std::size_t connections_;
    std::vector<std::size_t> bounds_;
    std::vector<std::size_t> held_;
    std::size_t total_ = 0;
};

struct RequestBounds {
    static constexpr std::array<double, 14> seconds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                    0.25,  0.5,    1.0,   2.5,  5.0,   10.0, 30.0};
};
using RequestTimes = DurationHistogram<RequestBounds>;

struct RouteTraffic {
    // `POST /orders/{id}`, or `GET /order-keys` for a status path. '' for requests that match no
    // route, and for what the server answers by itself.
    std::string route;
    std::map<int, std::int64_t> statuses;  // requests, by the status of their answer
    std::int64_t replayed = 0;             // those that got an earlier request's answer
    RequestTimes times{};                  // from their last byte to their answer
    std::int64_t under_way = 0;            // that have no answer yet
    std::int64_t full = 0;                 // refused, as too many were under way
};

class Traffic {
  public:
    // Counted in the order of the front door's table: the routes, then their status paths.
    explicit Traffic(const GatewayOptions& options);
    // Returns false if too many requests of the route are under way: refuse this one.
    bool begin(std::size_t place);
    void end(std::size_t place);
    // `place`: the route's; nullopt if no route matches.
    void count(std::optional<std::size_t> place, const HttpResponse& response,
               std::chrono::steady_clock::duration took);
    std::vector<RouteTraffic> read() const;

  private:
    mutable Mutex mutex_;
    std::vector<RouteTraffic> routes_ ONCEWARD_GUARDED_BY(mutex_);  // the last: no route
    RequestRoom room_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
