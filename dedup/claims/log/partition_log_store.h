#pragma once
// The `log` store with `reach: partition`: a duplicate is found only within its partition, which
// the fence keeps to one worker. So there are no claims of others to read, and each worker
// remembers its own partitions. Used by the writer's thread; failures are PostgresErrors, and
// std::logic_error if a claim's partition was not taken.

#include <map>
#include <memory>

#include "dedup/claims/log/log_window.h"

namespace onceward {

class PartitionLogStore final : public ClaimStore {
  public:
    // `ledger` and `source` as register_ledger() gave them; `windows` is the process's, for
    // nothing but the memory of all windows.
    PartitionLogStore(int ledger, int source, std::shared_ptr<LogWindows> windows)
        : ledger_(ledger), source_(source), windows_(std::move(windows)) {}
    // DANGER: call it after the take-over's COMMIT, in a later transaction. Before it, the old
    // owner's last batch may still be under way, and its claims would be missing here.
    void partitions_taken(Connection& connection,
                          std::span<const TopicPartition> partitions) override;
    void partitions_lost(std::span<const TopicPartition> partitions) override;
    void catch_up(Connection& connection) override;
    void follow(Connection& connection) override;
    std::optional<std::vector<ClaimAnswer>> claim(Transaction& transaction,
                                                  std::span<const Claim> claims) override;
    std::vector<std::vector<ClaimPlace>> places(Transaction& transaction,
                                                std::span<const Claim> claims) override;
    Settlement settle(Transaction& transaction) override;
    void committing() override;
    void committed() override;
    void connection_lost() override;
    void release_all() override { connection_lost(); }
    // For tests. REQUIRES: the partition was taken.
    LogWindow& window(Partition partition) { return *parts_.at(partition).window; }

  private:
    // A partition's window, and its part of the transaction under way.
    struct Part {
        std::shared_ptr<LogWindow> window;
        std::vector<Claim> claims;
        std::vector<std::size_t> places;  // among the batch's claims
        LogAppend append;
        std::int64_t seq = 0;
    };
    void load(Connection& connection, Partition partition);
    // Reads what became a segment, and filters. Returns whether the process was within its limit of
    // memory.
    bool read_news(Connection& connection);
    void look_at_one_window(Connection& connection);
    bool read_missing_filters(Connection& connection);
    void segment_was_dropped();
    // `current`: the row of sql::log_current.
    void move_on(const QueryResult& current);
    void forget_batch();
    // False: the verdicts no longer hold, or the rows went into a generation that is sealed.
    bool still_holds(const QueryResult& current);

    int ledger_;
    int source_;
    std::shared_ptr<LogWindows> windows_;
    std::map<Partition, Part> parts_;
    // The parts that the transaction under way has claims in.
    std::vector<Part*> open_;
    std::int64_t generation_ = 0;
    std::int64_t evictions_ = 0;
    // When the bytes of the process's windows are counted, though no filter is missing.
    LogWindow::Clock::time_point next_count_{};
    bool must_load_ = false;          // all of them, before the next batch
    bool asked_for_dropped_ = false;  // the batch before asked for a segment that is gone
};

}  // namespace onceward
