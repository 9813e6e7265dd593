#include "cli/compose.h"

#include "sinks/dead_letter_sink.h"
#include "sinks/table_sink.h"

namespace onceward {

std::unique_ptr<Sink> make_sink(const SinkOptions& options) {
    struct Maker {
        std::unique_ptr<Sink> operator()(const TableSinkOptions& table) const {
            return std::make_unique<TableSink>(table);
        }
    };
    return std::visit(Maker{}, options);
}

std::unique_ptr<Sink> make_dead_letter_sink() { return std::make_unique<DeadLetterSink>(); }

WorkerOptions make_worker_options(const Configuration& configuration, int number) {
    WorkerOptions options;
    options.number = number;
    options.kafka = configuration.kafka;
    options.postgres = configuration.postgres;
    options.batch = configuration.batch;
    options.drain_timeout = configuration.drain_timeout;
    options.dead_letters = make_dead_letter_sink;
    for (const TopicConfiguration& from : configuration.topics) {
        WorkerTopic topic;
        topic.name = from.name;
        topic.format = from.format;
        topic.key = from.key;
        topic.ledger = configuration.ledgers.at(from.ledger);
        topic.reject = from.reject;
        topic.start = from.start;
        topic.on_out_of_range = from.on_out_of_range;
        SinkOptions sink = from.sink;
        if (auto* table = std::get_if<TableSinkOptions>(&sink)) {
            // So that a missing DELETE privilege shows at the start and not at the first tombstone.
            table->removes = from.format.tombstones == TombstonePolicy::remove ||
                             from.format.envelope == Envelope::debezium;
        }
        topic.sink = [sink] { return make_sink(sink); };
        options.topics.push_back(std::move(topic));
    }
    return options;
}

}  // namespace onceward
