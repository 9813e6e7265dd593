#include "cli/process/serve_routes.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "cli/composition/gateway_options.h"
#include "cli/composition/keyed_routes.h"
#include "cli/composition/topic_routes.h"
#include "cli/composition/trace_exporter.h"
#include "cli/operate/admin_acts.h"
#include "cli/process/admin_port.h"
#include "cli/process/service_manager.h"
#include "cli/process/worker_slots.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/stop_request.h"
#include "dedup/base/backoff.h"
#include "dedup/base/expects.h"
#include "dedup/base/logging.h"
#include "gateway/front_door.h"
#include "gateway/http/server.h"

namespace onceward {
namespace {

// A signal ends a pause.
constexpr auto tend_every = std::chrono::milliseconds(200);
constexpr std::chrono::seconds leave_within{15};
constexpr auto totals_every = std::chrono::seconds(10);

std::unique_ptr<KeySetCache> key_sets(const HttpConfiguration& http) {
    if (http.jwks.empty()) return nullptr;
    KeySetCacheOptions options;
    options.fetch = [place = http.jwks, trust = http.jwks_ca_file] {
        return fetch_key_set(place, trust);
    };
    options.every = http.jwks_refresh;
    return std::make_unique<KeySetCache>(std::move(options));
}

}  // namespace

struct GatewayRun::State {
    State(const Configuration& configuration, StepObserver* observer, ServerUpkeep* shared,
          Tracer* tracer)
        : options(gateway_options(configuration)),
          own(shared != nullptr ? nullptr
                                : ServerUpkeep::of_routes(configuration, observer, tracer)),
          upkeep(shared != nullptr ? shared : own.get()),
          server(
              options.server,
              [this](HttpRequest request, HttpServer::Answer answer) {
                  door.handle(std::move(request), std::move(answer));
              },
              [this](int status) { door.refused_by_server(status); }),
          topics(std::make_unique<TopicRoutes>(TopicRoutesOptions{.kafka = configuration.kafka})),
          keys(key_sets(configuration.http)),
          keyed(configuration.route_sinks.empty() && configuration.route_upstreams.empty()
                    ? nullptr
                    : std::make_unique<KeyedRoutes>(configuration, *upkeep, observer, tracer)),
          door(options, {.topics = topics.get(),
                         .keyed = keyed.get(),
                         .keys = keys.get(),
                         .fields =
                             [this](std::size_t route, std::string_view body) {
                                 return keyed->fields(route, body);
                             },
                         .tracer = tracer}) {
        server.start();
    }
    // First nothing new is accepted. Then what is under way is answered, through the front door.
    // The server, which takes the answers, ends last.
    ~State() {
        server.stop(std::chrono::milliseconds(0));
        keys.reset();
        keyed.reset();
        topics.reset();
    }

    GatewayOptions options;
    std::unique_ptr<ServerUpkeep> own;
    ServerUpkeep* upkeep;  // null if no route keeps keys
    HttpServer server;
    std::unique_ptr<TopicRoutes> topics;
    std::unique_ptr<KeySetCache> keys;
    std::unique_ptr<KeyedRoutes> keyed;
    FrontDoor door;
};

GatewayRun::GatewayRun(const Configuration& configuration, StepObserver* observer,
                       ServerUpkeep* upkeep, Tracer* tracer)
    : state_(std::make_unique<State>(configuration, observer, upkeep, tracer)) {
    expects(!configuration.http.routes.empty(), "the configuration has routes");
    log_info("http.listening", {{"host", state_->options.server.host},
                                {"port", state_->server.port()},
                                {"tls", !state_->options.server.certificate_file.empty()},
                                {"routes", state_->options.routes.size()}});
}

GatewayRun::~GatewayRun() = default;

void GatewayRun::stop(std::chrono::milliseconds limit) { state_->server.stop(limit); }

std::uint16_t GatewayRun::port() const { return state_->server.port(); }

void GatewayRun::complete(ProcessStatus& status) const {
    status.routes = state_->door.traffic();
    status.server = state_->server.counts();
    if (state_->own) state_->own->complete(status);
    if (!state_->keyed) return;
    // The guard's session asks the same of the server as the routes' sessions.
    status.front_door.emplace(state_->upkeep->guard().failure().value_or(""));
    state_->keyed->complete(status);
}

std::chrono::milliseconds longest_drain(const Configuration& configuration) {
    // A call is not interrupted: its effect would be in doubt.
    std::chrono::milliseconds longest_call{0};
    for (const auto& [place, kept] : configuration.route_upstreams) {
        longest_call = std::max(longest_call, configuration.http.routes[place].upstream.timeout);
    }
    return configuration.drain_timeout + longest_call + configuration.postgres.statement_timeout +
           leave_within;
}

std::jthread leave_in_time(const Configuration& configuration, int code) {
    const std::chrono::milliseconds limit = longest_drain(configuration);
    return std::jthread([limit, code](const std::stop_token& stop) {
        sleep_unless(stop, limit);
        if (stop.stop_requested()) return;
        log_error("onceward.drain_overdue", {{"milliseconds", limit.count()}});
        std::_Exit(code);
    });
}

void serve_routes(const Configuration& configuration, StepObserver* observer) {
    const StopRequest signals;
    const HangUpNoted hang_up;
    std::jthread deadline;  // it outlives what it waits for
    // Declared before what records spans, so that it sends the last of them.
    const std::unique_ptr<TraceExporter> traces = make_trace_exporter(configuration);
    GatewayRun gateway(configuration, observer, nullptr, tracer_of(traces));
    // Empty: only `onceward run` has workers.
    const WorkerSlots slots(configuration.group, {}, {});
    std::atomic<bool> draining = false;
    const auto complete = [&gateway, &draining, &traces](ProcessStatus& status) {
        status.draining = draining;
        gateway.complete(status);
        if (traces) status.traces = traces->tracer().counts();
    };
    const CurrentConfiguration current(configuration);
    AdminPort admin(configuration.admin, slots, {configuration.postgres}, totals_every, complete,
                    configuration.admin_access, admin_acts(current), &current);
    ServiceManager manager;
    manager.ready();
    while (!stop_requested()) {
        sleep_until_signal(tend_every);
        if (HangUpNoted::taken()) {
            log_warning("onceward.reload_ignored",
                        {{"signal", "SIGHUP"},
                         {"error", "routes cannot be reloaded: restart the process"}});
        }
        admin.tend();
        manager.tend(slots, complete);
    }
    draining = true;
    log_info("onceward.draining");
    deadline = leave_in_time(configuration, exit_failure);
    manager.stopping(longest_drain(configuration));
    gateway.stop(configuration.drain_timeout);
    log_info("onceward.stopped");
}

}  // namespace onceward
