#pragma once
// The composition root: from a configuration to the parts of a worker. The only place that names a
// concrete sink. Thread-safe; what comes back owns what it needs, but for the observer.

#include <memory>

#include "cli/configuration/configuration.h"
#include "consumer/worker_options.h"
#include "dedup/sink.h"

namespace onceward {

std::unique_ptr<Sink> make_sink(const SinkOptions& options);
std::unique_ptr<Sink> make_dead_letter_sink();

// The options of worker `number` of the process, 0 being the first one.
WorkerOptions make_worker_options(const Configuration& configuration, int number);

}  // namespace onceward
