#include "cli/composition/sink_routes.h"

#include <algorithm>

#include "cli/composition/composition.h"
#include "cli/configuration/databases.h"
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

SinkBatcherOptions batcher_of(const Configuration& configuration, std::size_t place,
                              const TopicConfiguration& message) {
    SinkBatcherOptions options;
    options.postgres = configuration.postgres;
    options.ledger = configuration.ledgers.at(message.ledger);
    options.ledger.stores_results = true;
    options.service = configuration.group;
    options.name = message.name;
    options.limits = message.answers.limits;
    options.wait = configuration.http.routes[place].options.wait;
    MessageBuilderOptions intake;
    intake.consumer_group = configuration.group;
    intake.topic = message.name;
    intake.format = message.format;
    intake.key.sources = key_preset("kafka-coordinates").value();  // none is extracted
    options.intake = [message, intake] { return intake_of(message, intake); };
    return options;
}

}  // namespace

SinkRoutes::SinkRoutes(const Configuration& configuration, StepObserver* observer)
    : guard_({.connection = configuration.postgres}),
      retention_(make_retention_options(configuration.postgres,
                                        ledgers_of(configuration, configuration.route_sinks))) {
    const bool publishes = std::ranges::any_of(configuration.route_sinks, [](const auto& route) {
        return !outboxes_of(route.second).empty();
    });
    if (auto options = publishes ? make_relay_options(configuration) : std::nullopt) {
        options->observer = observer;
        relay_.emplace(std::move(*options));
    }
    const auto windows = std::make_shared<LogWindows>();
    for (const auto& [place, message] : configuration.route_sinks) {
        SinkBatcherOptions options = batcher_of(configuration, place, message);
        options.log_windows = windows;
        options.observer = observer;
        options.guard = &guard_;
        options.timed_out = [count = &timed_out_[message.name]] { ++*count; };
        batchers_.emplace(place, std::make_unique<SinkBatcher>(std::move(options)));
    }
    retention_thread_ = std::jthread([this](const std::stop_token& stop) { retention_.run(stop); });
    if (!relay_) return;
    relay_thread_ = std::jthread([this](const std::stop_token& stop) { relay_->run(stop); });
}

SinkRoutes::~SinkRoutes() = default;

void SinkRoutes::submit(std::vector<KeyedRequest> requests, Then then) {
    const std::size_t route = requests.front().route;
    batchers_.at(route)->submit(std::move(requests), std::move(then));
}

void SinkRoutes::complete(ProcessStatus& status) const {
    status.add_front_door(guard_.failure());
    for (const auto& [route, count] : timed_out_) status.front_door->timed_out[route] = count;
    status.add_retention(default_database, retention_.counts());
    // If workers use that server too, theirs is reported: a metric has one value.
    if (relay_ && std::ranges::find(status.relays, default_database, &RelayState::database) ==
                      status.relays.end()) {
        status.relays.push_back({default_database, relay_->counts()});
    }
}

void SinkRoutes::look(std::size_t route, const Digest& key,
                      std::function<void(StatusOutcome)> then) {
    batchers_.at(route)->look(route, key, std::move(then));
}

}  // namespace onceward
