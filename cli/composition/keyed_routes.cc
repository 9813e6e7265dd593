#include "cli/composition/keyed_routes.h"

#include "cli/composition/composition.h"
#include "consumer/intake/message_builder.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

// The worker's own way from a record to a message, but for the key, which the front door has.
SinkIntake intake_of(const TopicConfiguration& message, const MessageBuilderOptions& options,
                     Tracer* tracer) {
    SinkIntake made;
    made.sink = make_sink(message, tracer);
    const auto intake = std::make_shared<MessageBuilder>(options, *made.sink);
    made.take = [intake](Record record, const MessageKey& key, Chunk& chunk) {
        take_now(*intake, std::move(record), key, chunk);
    };
    return made;
}

MessageBuilderOptions intake_options(const Configuration& configuration,
                                     const TopicConfiguration& message) {
    MessageBuilderOptions intake;
    intake.consumer_group = configuration.group;
    intake.topic = message.name;
    intake.format = message.format;
    intake.key.sources = key_preset("kafka-coordinates").value();  // none is extracted
    return intake;
}

KeyedRouteOptions options_of(const Configuration& configuration, std::size_t place,
                             const TopicConfiguration& message, ServerUpkeep& upkeep,
                             StepObserver* observer) {
    KeyedRouteOptions options{.postgres = configuration.postgres,
                              .ledger = configuration.ledgers.at(message.ledger),
                              .service = configuration.group,
                              .name = message.name,
                              .limits = message.answers.limits,
                              .wait = configuration.http.routes[place].options.wait,
                              .guard = &upkeep.guard(),
                              .observer = observer};
    options.ledger.stores_results = true;
    return options;
}

}  // namespace

KeyedRoutes::KeyedRoutes(const Configuration& configuration, ServerUpkeep& upkeep,
                         StepObserver* observer, Tracer* tracer) {
    for (const auto& [place, message] : configuration.route_sinks) {
        SinkBatcherOptions options{options_of(configuration, place, message, upkeep, observer)};
        options.intake = [message = message, intake = intake_options(configuration, message),
                          tracer] { return intake_of(message, intake, tracer); };
        options.cache_bytes = message.answers.cache_bytes;
        options.log_windows = upkeep.log_windows();
        options.timed_out = [count = &timed_out_[message.name]] { ++*count; };
        sinks_.emplace(place, std::make_unique<SinkBatcher>(std::move(options)));
    }
    for (const auto* routes : {&configuration.route_sinks, &configuration.route_upstreams}) {
        for (const auto& [place, message] : *routes) {
            const std::vector<std::string>& fields = message.key.fingerprint.fields;
            if (fields.empty()) continue;
            fingerprints_.emplace(place, std::make_unique<BodyFingerprint>(message.format, fields));
        }
    }
    for (const auto& [place, message] : configuration.route_upstreams) {
        UpstreamRequestOptions options{options_of(configuration, place, message, upkeep, observer)};
        const RouteConfiguration& route = configuration.http.routes[place];
        options.key_header = route.options.key.header;
        options.upstream = route.upstream;
        options.tracer = tracer;
        if (const auto address = call_address(route.upstream.url.reveal())) {
            options.host = address->host;
        }
        options.client = [upstream = route.upstream, bytes = message.answers.limits.max_bytes] {
            return make_upstream_client(upstream, bytes);
        };
        upstreams_.emplace(place, std::make_unique<UpstreamRequests>(std::move(options)));
    }
}

RequestTarget& KeyedRoutes::at(std::size_t route) const {
    const auto upstream = upstreams_.find(route);
    if (upstream != upstreams_.end()) return *upstream->second;
    return *sinks_.at(route);
}

void KeyedRoutes::submit(std::vector<KeyedRequest> requests, Then then) {
    const std::size_t route = requests.front().route;
    at(route).submit(std::move(requests), std::move(then));
}

void KeyedRoutes::look(std::size_t route, const Digest& key,
                       std::function<void(StatusOutcome)> then) {
    at(route).look(route, key, std::move(then));
}

void KeyedRoutes::complete(ProcessStatus& status) const {
    for (const auto& [route, count] : timed_out_) status.front_door->timed_out[route] = count;
    for (const auto& [place, route] : upstreams_) {
        status.upstream_calls[route->name()] = route->calls_under_way();
    }
}

}  // namespace onceward
