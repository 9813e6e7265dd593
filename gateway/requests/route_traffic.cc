#include "gateway/requests/route_traffic.h"

namespace onceward {
namespace {

std::vector<RouteTraffic> routes_of(const GatewayOptions& options) {
    std::vector<RouteTraffic> routes;
    for (const RouteOptions& route : options.routes) {
        routes.emplace_back().route = operation_of(route.pattern);
    }
    for (const RouteOptions& route : options.routes) {
        if (!route.status_path.empty()) {
            routes.emplace_back().route = operation_of({"GET", route.status_path});
        }
    }
    routes.emplace_back();
    return routes;
}

// Status paths have no bound of their own.
std::vector<std::size_t> bounds_of(const GatewayOptions& options, std::size_t places) {
    std::vector<std::size_t> bounds;
    for (const RouteOptions& route : options.routes) bounds.push_back(route.at_once);
    bounds.resize(places);
    return bounds;
}

}  // namespace

Traffic::Traffic(const GatewayOptions& options)
    : routes_(routes_of(options)),
      room_(options.server.limits.connections, bounds_of(options, routes_.size())) {}

bool Traffic::begin(std::size_t place) {
    const MutexLock lock(mutex_);
    if (room_.enter(place)) return true;
    ++routes_[place].full;
    return false;
}

void Traffic::end(std::size_t place) {
    const MutexLock lock(mutex_);
    room_.leave(place);
}

void Traffic::count(std::optional<std::size_t> place, const HttpResponse& response,
                    std::chrono::steady_clock::duration took) {
    const MutexLock lock(mutex_);
    RouteTraffic& route = routes_[place.value_or(routes_.size() - 1)];
    ++route.statuses[response.status];
    if (response.replayed) ++route.replayed;
    route.times.observe(std::chrono::duration<double>(took).count());
}

std::vector<RouteTraffic> Traffic::read() const {
    const MutexLock lock(mutex_);
    std::vector<RouteTraffic> routes = routes_;
    for (std::size_t place = 0; place + 1 < routes.size(); ++place) {
        routes[place].under_way = static_cast<std::int64_t>(room_.under_way(place));
    }
    return routes;
}

}  // namespace onceward
