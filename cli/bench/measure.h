#pragma once
// One measured run of a worker over a topic that is full already: from when it reads to its last
// commit. Used by one thread. Failures are exceptions; a run whose rows do not add up is one too.

#include <chrono>
#include <cstdint>
#include <string>

#include "consumer/worker_options.h"

namespace onceward::bench {

enum class Mode : std::uint8_t {
    dedup,   // as users have it
    off,     // the same decode, fence, batch and commit; only digest and claim are left out
    single,  // a transaction for each message, with its claim
};
std::string_view name_of(Mode mode);

struct Setting {
    std::string bootstrap_servers;
    ConnectionOptions postgres;  // may create tables; its schema is made anew for each run
    std::string topic;
    std::int64_t messages = 0;  // in the topic; `single` stops after `single_messages` of them
    std::int64_t single_messages = 0;
    BatchLimits batch;
};

struct Measurement {
    double messages_per_second = 0;
    std::int64_t messages = 0;
    double worker_cpu_seconds = 0;  // of this process while it ran
    double wal_bytes_per_message = 0;
    std::int64_t batches = 0;
};

// Fills the topic with JSON messages of about 200 bytes, each with a key of its own in a header.
void fill(const Setting& setting, int partitions);

// REQUIRES: the topic is full. Each run has a group, a schema and a table of its own, gone
// afterwards.
Measurement measure(const Setting& setting, Mode mode, int run);

}  // namespace onceward::bench
