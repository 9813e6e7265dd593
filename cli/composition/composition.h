#pragma once
// The composition root: from a configuration to the parts of a worker. The only place that names a
// concrete sink. Thread-safe; what comes back owns what it needs, except for the observer.

#include <memory>
#include <optional>

#include "cli/composition/registries.h"
#include "cli/configuration/configuration.h"
#include "consumer/relay/relay.h"
#include "consumer/writing/worker_options.h"
#include "dedup/retention/retention.h"
#include "dedup/sink/sink.h"

namespace onceward {

// `tracer`: null if traces are off; outlives the sink.
std::unique_ptr<Sink> make_sink(const SinkOptions& options, Tracer* tracer = nullptr);
// The topic's sink, together with what the topic publishes in addition.
std::unique_ptr<Sink> make_sink(const TopicConfiguration& topic, Tracer* tracer = nullptr);
std::unique_ptr<Sink> make_dead_letter_sink();

// The options of worker `number` of the process, 0 being the first one.
// `registries`: those of make_registries().
WorkerOptions make_worker_options(const Configuration& configuration, int number,
                                  const Registries& registries, Tracer* tracer = nullptr);

// The options of the job that rotates these ledgers and drops what has expired in them.
RetentionOptions make_retention_options(const ConnectionOptions& connection,
                                        std::vector<LedgerOptions> ledgers);

// nullopt if no topic has an outbox or replies.
std::optional<RelayOptions> make_relay_options(const Configuration& configuration);

}  // namespace onceward
