#include "cli/composition/composition.h"

#include <algorithm>

#include "sinks/dead_letters/dead_letter_sink.h"
#include "sinks/function/function_sink.h"
#include "sinks/outbox/outbox_sink.h"
#include "sinks/table/table_sink.h"
#include "sinks/webhook/webhook_sink.h"

namespace onceward {
namespace {

// Calls after each other in a batch. With fewer the worker's other topics continue sooner, but
// calls idle at the end of each batch.
constexpr std::size_t calls_in_a_row = 8;

// The most bytes of a dead letter's record, which cannot be rejected once more. It is what
// librdkafka takes in one answer by default, so that what was read can be published.
constexpr std::size_t letter_bytes_most = 100'000'000;

OutboxOptions with_traces(OutboxOptions options, const Tracer* tracer) {
    options.traces = tracer != nullptr;
    return options;
}

// The topics that dead letters are published to.
DeadLetterSink::Topics letter_topics_of(const Configuration& configuration) {
    DeadLetterSink::Topics topics;
    for (const TopicConfiguration& topic : configuration.topics) {
        if (topic.dead_letters) topics.emplace(topic.name, *topic.dead_letters);
    }
    return topics;
}

}  // namespace

std::unique_ptr<Sink> make_sink(const SinkOptions& options, Tracer* tracer) {
    if (const auto* table = std::get_if<TableSinkOptions>(&options)) {
        return std::make_unique<TableSink>(*table);
    }
    if (const auto* outbox = std::get_if<OutboxOptions>(&options)) {
        return std::make_unique<OutboxSink>(with_traces(*outbox, tracer));
    }
    if (const auto* function = std::get_if<FunctionSinkOptions>(&options)) {
        return std::make_unique<FunctionSink>(*function);
    }
    return std::make_unique<WebhookSink>(std::get<WebhookOptions>(options), tracer);
}

std::unique_ptr<Sink> make_sink(const TopicConfiguration& topic, Tracer* tracer) {
    SinkOptions options = topic.sink;
    if (auto* table = std::get_if<TableSinkOptions>(&options)) {
        // So that a missing DELETE privilege shows at the start and not at the first tombstone.
        table->removes = topic.format.tombstones == TombstonePolicy::remove ||
                         topic.format.envelope == Envelope::debezium;
    }
    if (auto* function = std::get_if<FunctionSinkOptions>(&options)) {
        function->answers = topic.stores_results;
    }
    std::unique_ptr<Sink> sink = make_sink(options, tracer);
    if (!topic.also_publish) return sink;
    return std::make_unique<AlsoPublishSink>(std::move(sink),
                                             with_traces(*topic.also_publish, tracer));
}

std::unique_ptr<Sink> make_dead_letter_sink() { return std::make_unique<DeadLetterSink>(); }

WorkerOptions make_worker_options(const Configuration& configuration, int number,
                                  const Registries& registries, Tracer* tracer) {
    WorkerOptions options;
    options.tracer = tracer;
    options.number = number;
    options.kafka = configuration.kafka;
    options.postgres = configuration.postgres;
    options.batch = configuration.batch;
    options.drain_timeout = configuration.drain_timeout;
    options.dead_letters = [topics = letter_topics_of(configuration)] {
        return std::make_unique<DeadLetterSink>(topics);
    };
    for (const TopicConfiguration& from : configuration.topics) {
        WorkerTopic topic;
        topic.name = from.name;
        topic.format = from.format;
        topic.key = from.key;
        topic.schemas = registry_of(registries, from);
        topic.ledger = configuration.ledgers.at(from.ledger);
        topic.reject = from.reject;
        if (from.stores_results) topic.answers = from.answers;
        topic.replies = [group = configuration.group] {
            return std::make_unique<OutboxReplies>(group);
        };
        topic.start = from.start;
        topic.on_out_of_range = from.on_out_of_range;
        if (const auto* webhook = std::get_if<WebhookOptions>(&from.sink)) {
            topic.batch_messages = webhook->concurrency * calls_in_a_row;
            topic.effect_retries = webhook->retries;
        }
        topic.sink = [from, tracer] { return make_sink(from, tracer); };
        options.topics.push_back(std::move(topic));
    }
    return options;
}

RetentionOptions make_retention_options(const ConnectionOptions& connection,
                                        std::vector<LedgerOptions> ledgers) {
    RetentionOptions options;
    options.connection = connection;
    // There must be several passes within a generation's life.
    for (const LedgerOptions& ledger : ledgers) {
        options.every = std::min(options.every, ledger.rotate_after / 4);
    }
    options.every = std::max(options.every, std::chrono::milliseconds(100));
    options.ledgers = std::move(ledgers);
    return options;
}

std::optional<RelayOptions> make_relay_options(const Configuration& configuration) {
    std::optional<RelayOptions> options;
    const auto need = [&](std::size_t record_max) {
        if (!options) options.emplace();
        options->record_max = std::max(options->record_max, record_max);
    };
    for (const TopicConfiguration& topic : configuration.topics) {
        for (const OutboxOptions* outbox : outboxes_of(topic)) need(outbox->record_max);
        if (replies(topic)) need(topic.answers.limits.max_bytes + reply_bytes_beside);
        if (topic.dead_letters) need(letter_bytes_most);
    }
    for (const auto& [place, route] : configuration.route_sinks) {
        for (const OutboxOptions* outbox : outboxes_of(route)) need(outbox->record_max);
    }
    if (!options) return options;
    options->connection = configuration.postgres;
    options->group = configuration.group;
    options->producer = producer_options(configuration.kafka);
    return options;
}

}  // namespace onceward
