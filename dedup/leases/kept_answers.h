#pragma once
// Keeps the answers to effects outside of PostgreSQL as a sink's results are kept, and replays them
// to duplicates. Used by the writer's thread; borrows the answers. Failures are PostgresErrors.

#include <utility>
#include <vector>

#include "dedup/leases/lease_processor.h"
#include "dedup/results/result_replay.h"

namespace onceward {

class KeptAnswers final : public EffectAnswers {
  public:
    explicit KeptAnswers(ResultReplay& answers) : answers_(answers) {}

    Settlement write(Transaction& transaction, std::span<const Ended> ended,
                     std::span<const Message* const> duplicates) override {
        std::vector<const Message*> messages;
        results_.all.clear();
        for (const Ended& one : ended) {
            messages.push_back(one.message);
            results_.all.push_back(*one.result);
        }
        answers_.begin();
        answers_.take(results_, messages);
        answers_.store(transaction, messages, duplicates);
        answers_.replay_rest(transaction);
        return answers_.settle(transaction);
    }
    void committed() override { answers_.committed(); }

  private:
    // Represents the sink that gave them.
    struct Results final : Sink {
        void write(Transaction&, const BatchContext&, std::span<const Message* const>) override {}
        std::vector<MessageResult> take_results() override { return std::exchange(all, {}); }
        std::vector<MessageResult> all;
    };
    ResultReplay& answers_;
    Results results_;
};

}  // namespace onceward
