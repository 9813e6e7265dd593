#pragma once
// The group's durable totals, as the fences' rows hold them, and what its ledgers and those of the
// inbox keep. They are read on demand, at most every ten seconds, over a session of its own that is
// closed when it is not used any more. get() is thread-safe and waits for a second at most: if
// PostgreSQL does not answer, it returns what was known before, with its time.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <optional>
#include <thread>

#include "cli/admin/process_status.h"
#include "dedup/base/mutex.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// Adds what one server knows; the time is that of the oldest.
void add(std::optional<DurableTotals>& sum, const std::optional<DurableTotals>& server);

class GroupTotals {
  public:
    // `every`: the shortest time between two reads.
    GroupTotals(ConnectionOptions connection, std::string group, std::chrono::milliseconds every);
    ~GroupTotals();
    std::optional<DurableTotals> get();

  private:
    using Clock = std::chrono::steady_clock;
    void run(const std::stop_token& stop);
    std::optional<DurableTotals> read();
    // Reads what may take long: one sixth as often as the rest, and for a hundredth of the time.
    void read_letters();

    ConnectionOptions options_;
    std::string group_;
    std::chrono::milliseconds every_;
    std::unique_ptr<Connection> connection_;  // of the thread alone, as the next two
    std::optional<std::map<std::string, OpenLetters>> letters_;
    Clock::time_point next_letters_{};
    Mutex mutex_;
    std::condition_variable_any wake_;
    bool wanted_ ONCEWARD_GUARDED_BY(mutex_) = false;
    std::optional<Clock::time_point> tried_ ONCEWARD_GUARDED_BY(mutex_);
    std::optional<DurableTotals> known_ ONCEWARD_GUARDED_BY(mutex_);
    std::jthread thread_;  // the last one: it uses the others
};

}  // namespace onceward
