#pragma once
// The `log` store with `reach: global`: claims are appended, one row a batch, and duplicates are
// looked up in the process's window. Messages that the window does not know are presumed fresh,
// written, and validated at the transaction's end, under the ledger's lock. Exact, as the table
// store is. Used by the writer's thread; failures are PostgresErrors.

#include <memory>
#include <optional>
#include <string>

#include "dedup/claims/log/log_window.h"

namespace onceward {

class LogStore final : public ClaimStore {
  public:
    // `ledger` and `source` as register_ledger() gave them; `windows` is the process's.
    LogStore(int ledger, int source, std::shared_ptr<LogWindows> windows);
    ~LogStore() override;
    void catch_up(Connection& connection) override;
    void follow(Connection& connection) override;
    void release_discarded() override;
    void release_all() override;
    std::optional<std::vector<ClaimAnswer>> claim(Transaction& transaction,
                                                  std::span<const Claim> claims) override;
    bool appends_as_new() const override { return true; }
    std::optional<std::vector<Connection::Planned>> append_as_new(
        std::span<const Claim> claims) override;
    void appended_as_new(std::span<const QueryResult> results) override;
    std::vector<std::vector<ClaimPlace>> places(Transaction& transaction,
                                                std::span<const Claim> claims) override;
    std::vector<bool> known(Connection& connection, std::span<const Digest> digests) override;
    bool reconsider(Connection& connection) override;
    Settlement confirm(Transaction& transaction) override;
    Settlement settle(Transaction& transaction) override;
    void committing() override;
    void committed() override;
    void ended() override;
    void connection_lost() override;
    // For tests.
    const LogWindow* window() const { return window_.get(); }

  private:
    static constexpr std::size_t first_most_news = 32;
    void join(Connection& connection);
    void read_to_end(Connection& connection);
    // Reads what others have claimed, and filters. Returns whether the process was within its limit
    // of memory.
    bool read_news(Connection& connection);
    bool read_missing_filters(Connection& connection);
    // A table that the window knows is gone: retention dropped it, or merged it into another.
    void look_for_segments();
    std::vector<ClaimAnswer> look_up(std::span<const Claim> claims);
    void check(Transaction& transaction, std::span<const LogWindow::Suspect> suspects,
               std::span<const Claim> claims, std::span<ClaimAnswer> answers);
    Settlement settle_duplicates(Transaction& transaction);
    // Statements under the lock, in one round trip; the look's result. Sets seq_.
    LogLook append(Transaction& transaction, const LogWindow::Position& at);
    // What others committed while the sink wrote, still without the lock.
    void read_ahead(Transaction& transaction);
    bool known_by_now() const;
    // Whether one of the others that appended since the window was read claims the same key.
    bool appended_meanwhile(const LogLook& look) const;
    // Waits for the transactions that this one relies on. Returns whether all of them were
    // committed in time, as was presumed.
    bool wait_for_reliance();

    int ledger_;
    int source_;
    std::shared_ptr<LogWindows> windows_;
    std::shared_ptr<LogWindow> window_;
    std::string server_;  // of the session; '' until asked
    // State of the transaction under way: what it appends, and what the window had seen when its
    // messages were presumed fresh.
    LogAppend append_;
    // What others appended, read under the lock, which the window does not know yet.
    std::optional<LogLook> news_;
    std::vector<LogWindow::Suspect> suspects_;
    // The window that lists append_ as under way, and its number there.
    std::shared_ptr<LogWindow> listed_;
    std::uint64_t number_ = 0;
    Reliance reliance_;
    // Whether a key that a neighbour is about to commit is presumed to be a duplicate. False after
    // such a presumption failed, until the next commit.
    bool relies_ = true;
    LogWindow::Position looked_;  // what the last look-up has checked
    std::int64_t generation_ = 0;
    std::int64_t seq_ = 0;
    bool nothing_claimed_ = true;
    // The statements of append_as_new() were sent: nothing else was appended, or they have failed.
    bool alone_ = false;
    bool must_read_ = true;  // before the next batch
    // How many batches are read with the lock held; more after a batch for which it was too few.
    std::size_t most_news_ = first_most_news;
};

}  // namespace onceward
