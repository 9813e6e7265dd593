#pragma once
// The sink of the core tier: one row a message. Fails, or swallows an error, once when asked to.
// Used by one worker's thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dedup/sink/sink.h"

namespace onceward::campaign::core {

class CampaignSink final : public Sink {
  public:
    // `at_once`: it has statements for a transaction in one round trip.
    CampaignSink(std::string schema, bool at_once)
        : schema_(std::move(schema)), at_once_(at_once) {}
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override;
    std::optional<std::vector<SinkStatement>> at_once(
        const BatchContext& context, std::span<const Message* const> messages) override;
    // The next write ends with this SQLSTATE. `happened` is called when it does.
    void fail_once(std::string sqlstate, std::function<void()> happened) {
        sqlstate_ = std::move(sqlstate);
        failed_ = std::move(happened);
    }
    // The next write continues after an error, as if nothing were wrong.
    void swallow_once(std::function<void()> happened) { swallowed_ = std::move(happened); }

  private:
    static void write_by_values(Transaction& transaction, std::span<const Message* const> messages);
    std::string schema_;
    bool at_once_;
    std::string sqlstate_;
    std::function<void()> failed_;
    std::function<void()> swallowed_;
};

}  // namespace onceward::campaign::core
