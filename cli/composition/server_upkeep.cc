#include "cli/composition/server_upkeep.h"

#include <algorithm>
#include <utility>

#include "cli/composition/composition.h"
#include "cli/composition/memory_budget.h"
#include "cli/configuration/databases.h"

namespace onceward {
namespace {

std::shared_ptr<LogWindows> windows_of_server(const Configuration& whole) {
    return std::make_shared<LogWindows>(static_cast<std::size_t>(
        claims_memory_each(whole, memory_budget(whole.memory_budget))));
}

RetentionOptions retention_of(const Configuration& whole, const Configuration& part,
                              std::shared_ptr<const LogWindows> windows) {
    RetentionOptions options =
        make_retention_options(part.postgres, ledgers_on(whole, part.database));
    options.windows = std::move(windows);
    return options;
}

}  // namespace

ServerUpkeep::ServerUpkeep(const Configuration& whole, const Configuration& part,
                           std::optional<RelayOptions> relay, StepObserver* observer,
                           Tracer* tracer)
    : database_(part.database),
      guard_({.connection = part.postgres}),
      log_windows_(windows_of_server(whole)),
      retention_(retention_of(whole, part, log_windows_)),
      retention_thread_([this](const std::stop_token& stop) { retention_.run(stop); }) {
    if (!relay) return;
    relay->observer = observer;
    relay->tracer = tracer;
    relay_.emplace(std::move(*relay));
    relay_thread_ = std::jthread([this](const std::stop_token& stop) { relay_->run(stop); });
}

std::unique_ptr<ServerUpkeep> ServerUpkeep::of_routes(const Configuration& configuration,
                                                      StepObserver* observer, Tracer* tracer) {
    Configuration routes = configuration;
    routes.topics.clear();
    if (used_databases(routes).empty()) return nullptr;
    // It runs only if a route publishes; then it also sends the rows of topics, within their
    // limits.
    auto relay = make_relay_options(routes) ? make_relay_options(configuration) : std::nullopt;
    return std::make_unique<ServerUpkeep>(routes, routes, std::move(relay), observer, tracer);
}

void ServerUpkeep::complete(ProcessStatus& status) const {
    status.retention.push_back({.database = database_,
                                .counts = retention_.counts(),
                                .claims_bytes = log_windows_->bytes(),
                                .claims_limit = log_windows_->limit()});
    if (relay_) status.relays.push_back({database_, relay_->counts()});
}

}  // namespace onceward
