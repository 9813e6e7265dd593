#include "cli/composition/keyed_routes.h"

#include "cli/composition/composition.h"
#include "consumer/intake/message_builder.h"

namespace onceward {
namespace {

// The worker's own way from a record to a message, but for the key, which the front door has.
SinkIntake intake_of(const TopicConfiguration& message, const MessageBuilderOptions& options) {
    SinkIntake made;
    made.sink = make_sink(message);
    const auto intake = std::make_shared<MessageBuilder>(options, *made.sink);
    intake->disable_keys();
    made.take = [intake](Record record, Chunk& chunk) { intake->take(std::move(record), chunk); };
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

// What routes to sinks and to upstreams have in common.
template <class Options>
Options options_of(const Configuration& configuration, std::size_t place,
                   const TopicConfiguration& message, ServerUpkeep& upkeep,
                   StepObserver* observer) {
    Options options;
    options.postgres = configuration.postgres;
    options.ledger = configuration.ledgers.at(message.ledger);
    options.ledger.stores_results = true;
    options.service = configuration.group;
    options.name = message.name;
    options.limits = message.answers.limits;
    options.wait = configuration.http.routes[place].options.wait;
    options.guard = &upkeep.guard();
    options.observer = observer;
    return options;
}

}  // namespace

KeyedRoutes::KeyedRoutes(const Configuration& configuration, ServerUpkeep& upkeep,
                         StepObserver* observer) {
    for (const auto& [place, message] : configuration.route_sinks) {
        auto options =
            options_of<SinkBatcherOptions>(configuration, place, message, upkeep, observer);
        options.intake = [message = message, intake = intake_options(configuration, message)] {
            return intake_of(message, intake);
        };
        options.log_windows = upkeep.log_windows();
        options.timed_out = [count = &timed_out_[message.name]] { ++*count; };
        sinks_.emplace(place, std::make_unique<SinkBatcher>(std::move(options)));
    }
    for (const auto& [place, message] : configuration.route_upstreams) {
        auto options =
            options_of<UpstreamRequestOptions>(configuration, place, message, upkeep, observer);
        const RouteConfiguration& route = configuration.http.routes[place];
        options.key_header = route.options.key.header;
        options.upstream = route.upstream;
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
