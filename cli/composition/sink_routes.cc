#include "cli/composition/sink_routes.h"

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

SinkRoutes::SinkRoutes(const Configuration& configuration, ServerUpkeep& upkeep,
                       StepObserver* observer) {
    for (const auto& [place, message] : configuration.route_sinks) {
        SinkBatcherOptions options = batcher_of(configuration, place, message);
        options.log_windows = upkeep.log_windows();
        options.observer = observer;
        options.guard = &upkeep.guard();
        options.timed_out = [count = &timed_out_[message.name]] { ++*count; };
        batchers_.emplace(place, std::make_unique<SinkBatcher>(std::move(options)));
    }
}

void SinkRoutes::submit(std::vector<KeyedRequest> requests, Then then) {
    const std::size_t route = requests.front().route;
    batchers_.at(route)->submit(std::move(requests), std::move(then));
}

void SinkRoutes::complete(ProcessStatus& status) const {
    for (const auto& [route, count] : timed_out_) status.front_door->timed_out[route] = count;
}

void SinkRoutes::look(std::size_t route, const Digest& key,
                      std::function<void(StatusOutcome)> then) {
    batchers_.at(route)->look(route, key, std::move(then));
}

}  // namespace onceward
