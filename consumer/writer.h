#pragma once
// The writer's thread: takes fences, runs the batches, commits offsets. Each step is an object in
// consumer/writing/; run() shows their order. Used by that thread alone; borrows what it is
// constructed with.

#include <vector>

#include "consumer/writing/failure_response.h"
#include "consumer/writing/standing_partitions.h"
#include "consumer/writing/take_over.h"
#include "consumer/writing/writer_session.h"

namespace onceward {

class Writer {
  public:
    // `parts`: one for each topic of the options, in their order.
    Writer(const WorkerOptions& options, Handoff& handoff, KafkaSource& source,
           const std::vector<TopicParts>& parts, WorkerActivity& activity);
    // Returns when the handoff says stop.
    void run();

  private:
    void forget_left();
    void release_memory();
    void follow_ledgers();
    void follow_next_ledger();
    void process(std::size_t number, Batch batch);
    void run_batch(WriterTopic& topic, Batch batch);
    void landed(WriterTopic& topic, std::span<const FenceMove> moves);
    void forget_old_statements();
    void commit_offsets();
    void tick_watermarks();

    const WorkerOptions& options_;
    Handoff& handoff_;
    KafkaSource& source_;
    WorkerActivity& activity_;
    WriterSession session_;
    WriterStep steps_;
    FailureResponse failures_;
    TopicSetup setup_;
    TakeOver take_over_;
    StandingPartitions standing_;
    FailureResponse::Clock::time_point next_offsets_{};
    std::size_t next_followed_ = 0;  // the topic whose ledger is followed next
};

}  // namespace onceward
