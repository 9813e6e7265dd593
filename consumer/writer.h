#pragma once
// The writer's thread: takes fences, runs the processors, reconnects. Used by that thread alone;
// borrows the rest.

#include <random>

#include "consumer/intake/message_builder.h"
#include "consumer/partitions/first_position.h"
#include "consumer/partitions/handoff.h"
#include "consumer/partitions/retention_watermarks.h"
#include "consumer/partitions/topic_spacing.h"
#include "consumer/watch/worker_activity.h"
#include "consumer/worker_options.h"
#include "dedup/fence/fence.h"
#include "dedup/leases/lease_processor.h"
#include "dedup/policy/batch_processor.h"
#include "dedup/server/migration.h"

namespace onceward {

class Writer {
  public:
    // What a topic's reader and writer share.
    struct TopicParts {
        Sink& sink;
        MessageBuilder& reading;    // the reader's
        MessageBuilder& finishing;  // the writer's own
    };
    // One for each topic of the options, in their order; what they refer to outlives the writer.
    Writer(const WorkerOptions& options, Handoff& exchange, KafkaSource& source,
           const std::vector<TopicParts>& parts, WorkerActivity& activity);
    ~Writer();
    // Until the exchange says stop.
    void run();

  private:
    using Clock = Handoff::Clock;
    struct Topic {
        const WorkerTopic* options = nullptr;
        Sink* sink = nullptr;
        MessageBuilder* reading = nullptr;
        MessageBuilder* finishing = nullptr;
        RegisteredLedger registered;
        std::unique_ptr<ClaimStore> claims;
        std::unique_ptr<ResultStore> results;
        std::unique_ptr<Replies> replies;
        std::unique_ptr<ResultReplay> answers;
        std::unique_ptr<EffectAnswers> kept;  // the same, of effects outside of PostgreSQL
        std::unique_ptr<BatchProcessor> processor;
        LogIdentity identity;
        std::string target;  // Sink::target_state() before the last look of prepare()
        // Assignment::changes() when it was asked for, plus one
        std::uint64_t identity_known = 0;
        // With `reach: partition`: how many partitions the ledger began with; nullopt if not asked.
        std::optional<int> fixed_partitions;
        bool ready = false;  // registered, and the sink fits, in this session
        int retries = 0;     // failures in a row that may pass, since the topic's last commit
        std::vector<Span> batch;  // of the batch in work, for the log
    };

    void connect();
    void forget_old_statements();
    void prepare(Topic& topic);
    void make_answers(Topic& topic) const;
    std::unique_ptr<BatchProcessor> make_processor(Topic& topic);
    std::unique_ptr<BatchProcessor> make_lease_processor(Topic& topic);
    void landed(Topic& topic, std::span<const FenceMove> moves);
    void lose_connection(const PostgresError& error);
    void take_over(const TopicPartition& partition);
    void create_fences(Topic& topic, const TopicPartition& wanted);
    void ask_identity(Topic& topic);
    void require_fixed_partitions(Topic& topic);
    void check_partitions(Topic& topic, int now);
    FenceState take_fence(Topic& topic, const TopicPartition& partition);
    void halt_suspect(const TopicPartition& partition, Offset fence);
    void stop_for_other_log(Topic& topic, const LogIdentity& before);
    void let_go();
    void miss(const TopicPartition& partition);
    LogQuestions questions(const TopicPartition& partition);
    void settle_refusal(Topic& topic, const TopicPartition& partition, const FenceState& fence);
    // Where to read on when the log does not hold the fence's offset; none: the partition was
    // halted.
    std::optional<Offset> beyond_the_gap(Topic& topic, const TopicPartition& partition,
                                         const FenceState& fence);
    void process(Topic& topic, Batch batch);
    void wait_for(Topic& topic, const MessageWaits& waits);
    // Whether the batch is to be tried again on this session. `begun`: when this try began.
    bool recover(Topic& topic, const ProcessingError& error, Clock::time_point begun);
    bool retry(Topic& topic, const ProcessingError& error, Clock::time_point begun);
    void abandon_leaving(Topic& topic);
    void refused(Topic& topic, const std::string& why);
    std::size_t let_wait(const Topic& topic, Clock::time_point until, const std::string& why = "");
    bool target_changed(Topic& topic);
    void set_aside(Topic& topic, const PostgresError& error, Clock::duration tried);
    void stop_topic(Topic& topic, const std::string& why, std::chrono::milliseconds first_retry,
                    HaltReason reason = HaltReason::failed);
    void halt(const TopicPartition& partition, const Halt& halt,
              std::chrono::milliseconds first_retry);
    // `tried`: how long what failed has held up the worker's other topics.
    void handle(const PostgresError& error, Topic* topic, Clock::duration tried = {});
    void read_on();
    void look_after_halted();
    void look_after_unreadable();
    void try_unreadable_again(const TopicPartition& partition);
    void look_at_pauses();
    void look_at_targets(const std::vector<TopicPartition>& halted);
    void tick_watermarks();
    void commit_offsets(bool wait);
    // 50 ms, doubled for each try, jittered, up to `longest`.
    std::chrono::milliseconds backoff(int tries, std::chrono::milliseconds longest);
    double jitter() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }
    Topic& find(const std::string& topic);

    const WorkerOptions& options_;
    Handoff& exchange_;
    KafkaSource& source_;
    WorkerActivity& activity_;
    std::unique_ptr<Connection> connection_;
    std::unique_ptr<Sink> dead_letters_;
    Fences fences_;
    std::vector<Topic> topics_;
    std::unique_ptr<RetentionWatermarks> watermarks_;
    std::mt19937_64 random_{std::random_device{}()};
    SchemaCheck require_schema_;
    TopicSpacing aside_;
    int failed_connects_ = 0;
    int retries_ = 0;  // of work that is no topic's batch
    Clock::time_point next_look_{};
    Clock::time_point next_pauses_{};
    Clock::time_point next_offsets_{};
};

}  // namespace onceward
