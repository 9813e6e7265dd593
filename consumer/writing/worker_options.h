#pragma once
// What a worker is made of: plain values and factories. The composition root fills them in.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consumer/intake/message_builder.h"
#include "consumer/kafka/kafka_options.h"
#include "consumer/registry/schema_cache.h"
#include "dedup/base/step_observer.h"
#include "dedup/claims/claim_store.h"
#include "dedup/claims/log/log_window.h"
#include "dedup/ledger/ledger.h"
#include "dedup/ledger/ledger_options.h"
#include "dedup/message/batch.h"
#include "dedup/policy/topic_policy.h"
#include "dedup/postgres/connection.h"
#include "dedup/results/result_replay.h"
#include "dedup/sink/effects.h"
#include "dedup/sink/sink.h"
#include "dedup/trace/tracer.h"

namespace onceward {

class FrozenSessionGuard;

struct WorkerTopic {
    std::string name;
    FormatOptions format;
    KeyOptions key;
    // Where the messages' schemas come from; null: from the format's files, or there are none.
    // Shared by the workers of a process.
    std::shared_ptr<SchemaCache> schemas = nullptr;
    LedgerOptions ledger;
    RejectPolicy reject;
    StartPosition start;
    OutOfRangePolicy on_out_of_range = OutOfRangePolicy::halt;
    // Makes the topic's sink; called once for each worker.
    std::function<std::unique_ptr<Sink>()> sink;
    // Makes the ledger's store; empty: by ledger.store.
    std::function<std::unique_ptr<ClaimStore>(const RegisteredLedger&)> claims;
    // Whether, and how, the sink's results are stored and replayed; needs ledger.stores_results.
    std::optional<ResultReplayOptions> answers = std::nullopt;
    // Makes what writes replies; called once for each worker, if answers.reply has a topic.
    std::function<std::unique_ptr<Replies>()> replies = {};
    // Only the bench sets false: no key, no digest, no claim; everything else is as usual.
    bool dedup = true;
    // The most messages in a batch, if that is fewer than the worker's limit; 0: that limit. While
    // a batch is worked on, the worker's other topics wait: external calls need short batches.
    std::size_t batch_messages = 0;
    // How effects outside of PostgreSQL are tried again (a ledger with `store: lease`).
    EffectRetries effect_retries = {};
};

struct WorkerOptions {
    int number = 0;  // among the workers of the process; part of a static member's id
    KafkaOptions kafka;
    ConnectionOptions postgres;
    BatchLimits batch;
    // How long a revoke or a shutdown waits for the batch in flight. A shorter time hands over
    // sooner and repeats more work; nothing is lost either way.
    std::chrono::milliseconds drain_timeout{10'000};
    std::vector<WorkerTopic> topics;
    std::function<std::unique_ptr<Sink>()> dead_letters;
    // Watches over the worker's session. May be null; outlives the worker.
    FrozenSessionGuard* guard = nullptr;
    // The shortest time between two samples of a partition's end, by which retention counts. A
    // longer time keeps claims longer by as much; a shorter one asks the broker more often.
    std::chrono::milliseconds watermark_every{10'000};
    // When a halted topic is first tried again; the wait doubles each time, up to ten minutes. A
    // change of the sink's table or of its triggers is noticed within seconds in any case. A
    // shorter time resumes sooner after another cause is fixed, and repeats the log line more often
    // until then.
    std::chrono::milliseconds first_retry{30'000};
    // How long a partition may be at one offset while messages wait before the worker reports it. A
    // shorter time reports sooner, but takes a long transaction for a stall.
    std::chrono::milliseconds stalled_after{45'000};
    // What the process remembers of its ledgers' logs. The workers of one process get the same
    // object: otherwise each reads and holds all of it.
    std::shared_ptr<LogWindows> log_windows = std::make_shared<LogWindows>();
    StepObserver* observer = nullptr;
    Tracer* tracer = nullptr;  // null: traces are off; outlives the worker
};

// The limits of a batch of that topic.
inline BatchLimits batch_limits(const WorkerOptions& options, const WorkerTopic& topic) {
    BatchLimits limits = options.batch;
    if (topic.batch_messages > 0) limits.messages = std::min(limits.messages, topic.batch_messages);
    return limits;
}

// The topics' names, in their order.
inline std::vector<std::string> topic_names(const WorkerOptions& options) {
    std::vector<std::string> names;
    for (const WorkerTopic& topic : options.topics) names.push_back(topic.name);
    return names;
}

}  // namespace onceward
