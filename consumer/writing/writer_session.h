#pragma once
// The writer's session with PostgreSQL, and everything that memory knows through it: fences,
// watermarks, and the state of each topic. Used by the writer's thread only. Borrows what it is
// constructed with; owns the connection. lost() is the one place where all of it is forgotten.

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "consumer/intake/message_builder.h"
#include "consumer/partitions/handoff.h"
#include "consumer/partitions/retention_watermarks.h"
#include "consumer/watch/worker_activity.h"
#include "consumer/writing/worker_options.h"
#include "dedup/fence/fence.h"
#include "dedup/policy/batch_processor.h"
#include "dedup/server/server_session.h"

namespace onceward {

// What a topic's reader and writer share. It outlives the writer.
struct TopicParts {
    std::unique_ptr<Sink> sink;
    std::unique_ptr<MessageBuilder> reading_builder;    // the reader's
    std::unique_ptr<MessageBuilder> finishing_builder;  // the writer's own
};

// A topic as the writer knows it.
struct WriterTopic {
    const WorkerTopic& options;
    Sink& sink;
    MessageBuilder& reading_builder;
    MessageBuilder& finishing_builder;
    RegisteredLedger registered{};
    std::unique_ptr<ClaimStore> claims{};
    std::unique_ptr<ResultStore> results{};
    std::unique_ptr<Replies> replies{};
    std::unique_ptr<ResultReplay> answers{};
    std::unique_ptr<BatchProcessor> processor{};
    LogIdentity identity{};
    std::string target{};  // Sink::target_state() before the topic was set up
    // Assignment::changes() when the identity was asked for, plus one
    std::uint64_t identity_known = 0;
    // With `reach: partition`: how many partitions the ledger began with; nullopt if not asked.
    std::optional<int> fixed_partitions{};
    bool ready = false;  // registered, and the sink fits, in this session
    int retries = 0;     // failures in a row that may pass, since the topic's last commit
    std::vector<Span> spans_in_work{};  // of the batch in work, for the log
};

class WriterSession {
  public:
    WriterSession(const WorkerOptions& options, Handoff& handoff, WorkerActivity& activity,
                  const std::vector<TopicParts>& parts);

    // Tries once; pauses if PostgreSQL cannot be reached or is not fit.
    void connect();
    bool connected() const { return static_cast<bool>(session_); }
    // REQUIRES: connected().
    Connection& connection() { return *session_; }
    // Grows with each connection: what belongs to an earlier one is out of date.
    std::uint64_t number() const { return number_; }
    // Ends the session, and forgets all that memory knew through it.
    void lost(const PostgresError& error);

    Fences& fences() { return fences_; }
    RetentionWatermarks& watermarks() { return watermarks_; }
    // In the order of the options.
    std::vector<WriterTopic>& topics() { return topics_; }
    WriterTopic& topic(const std::string& name);

  private:
    const WorkerOptions& options_;
    Handoff& handoff_;
    WorkerActivity& activity_;
    ServerSession session_;
    std::uint64_t number_ = 0;
    int failed_ = 0;  // connects in a row
    Fences fences_;
    RetentionWatermarks watermarks_;
    std::vector<WriterTopic> topics_;
};

// What each step of the writer borrows.
struct WriterStep {
    const WorkerOptions& options_;
    Handoff& handoff_;
    KafkaSource& source_;
    WorkerActivity& activity_;
    WriterSession& session_;
};

// Makes what a topic's batches need in a session: its ledger's registration, the prepared sink, the
// stores of claims and results, and the processor. Used by the writer's thread only. Borrows what
// it is constructed with; owns the dead letters' sink.
class TopicSetup : private WriterStep {
  public:
    // Called after a COMMIT of the topic was answered, with the moves of its fences.
    using Landed = std::function<void(WriterTopic&, std::span<const FenceMove>)>;

    TopicSetup(const WriterStep& borrowed, Landed landed)
        : WriterStep(borrowed),
          landed_(std::move(landed)),
          dead_letters_(options_.dead_letters()) {}

    // Does nothing if the topic is ready. Throws a PostgresError, SinkMismatch if the sink does not
    // fit its target, or std::invalid_argument if sink and ledger do not fit each other.
    // REQUIRES: the session is connected.
    void prepare(WriterTopic& topic);

  private:
    void make_answers(WriterTopic& topic) const;
    std::unique_ptr<BatchProcessor> make_processor(WriterTopic& topic);

    Landed landed_;
    std::unique_ptr<Sink> dead_letters_;
};

}  // namespace onceward
