#include "gateway/traffic.h"

namespace onceward {

Traffic::Traffic(const GatewayOptions& options) {
    for (const RouteOptions& route : options.routes) {
        routes_.emplace_back().route = operation_of(route.pattern);
    }
    routes_.emplace_back();
}

void Traffic::count(std::optional<std::size_t> place, const HttpResponse& response,
                    std::chrono::steady_clock::duration took) {
    const bool replayed = only_value(response.headers, "Idempotent-Replayed").has_value();
    const std::lock_guard lock(mutex_);
    RouteTraffic& route = routes_[place.value_or(routes_.size() - 1)];
    ++route.statuses[response.status];
    if (replayed) ++route.replayed;
    route.seconds += std::chrono::duration<double>(took).count();
}

std::vector<RouteTraffic> Traffic::read() const {
    const std::lock_guard lock(mutex_);
    return routes_;
}

}  // namespace onceward
