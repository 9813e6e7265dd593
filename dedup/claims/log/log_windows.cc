// How much all windows of a process hold, and who shares one.

#include <algorithm>
#include <set>

#include "dedup/claims/log/log_window.h"

namespace onceward {
namespace {

// Filters hold up no batch for longer than this.
constexpr auto longest_reading = std::chrono::milliseconds(200);
constexpr auto shortest_reading = std::chrono::milliseconds(5);

}  // namespace

std::size_t LogWindows::bytes() const {
    const MutexLock lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& [ledger, one] : all_) {
        if (const auto window = one.lock()) bytes += window->bytes();
    }
    return bytes;
}

LogWindows::Recent LogWindows::recent(int ledger, std::int64_t generation) const {
    Recent found;
    std::set<int> ledgers;
    const MutexLock lock(mutex_);
    for (const auto& [number, one] : all_) {
        const auto window = one.lock();
        if (!window) continue;
        const LogWindow::RecentClaims held = window->recent_claims(generation);
        if (held.all == 0) continue;
        found.all += held.all;
        ledgers.insert(number);
        if (number != ledger) continue;
        found.ledger.all += held.all;
        found.ledger.of_generation += held.of_generation;
        found.ledger.sealed += held.sealed;
        found.ledger.open_claims += held.open_claims;
    }
    found.ledgers = ledgers.size();
    return found;
}

std::size_t LogWindows::enough(const Recent& found, std::size_t held) const {
    const std::size_t others = found.all - held;
    const std::size_t half = limit_ / 2;
    const std::size_t left = half > others ? half - others : 0;
    // Half of the limit is always enough. Otherwise sealed claims that stay in memory, such as
    // those of a stopped worker, would keep the generation open for as long as they stay.
    const std::size_t share = std::min(found.all / found.ledgers, half);
    return std::max({left, share, std::size_t{1}});
}

double LogWindows::fullness(int ledger, std::int64_t generation) const {
    const Recent found = recent(ledger, generation);
    // What is held of other generations is sealed already, or is another ledger's.
    const std::size_t held = found.ledger.of_generation;
    if (held == 0) return 0;
    return static_cast<double>(held) / static_cast<double>(enough(found, held));
}

bool LogWindows::holds_much(int ledger) const {
    const Recent found = recent(ledger, 0);
    // DANGER: do not count an open generation that retention leaves open. The ledger's batches
    // would pause until it has filled, which may take hours, and nothing would be freed.
    const bool may_be_sealed =
        std::cmp_greater_equal(found.ledger.open_claims, fewest_claims_by_memory);
    const std::size_t held = may_be_sealed ? found.ledger.all : found.ledger.sealed;
    return held > 0 && held >= enough(found, held);
}

std::chrono::milliseconds LogWindows::reading_time(LogWindow::Clock::time_point now) const {
    const auto since = now - filters_read_at_.load();
    return std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(since / 2),
                      shortest_reading, longest_reading);
}

std::shared_ptr<LogWindow> LogWindows::make_one(int ledger) {
    std::erase_if(all_, [](const auto& one) { return one.second.expired(); });
    auto window = std::make_shared<LogWindow>();
    all_.emplace_back(ledger, window);
    return window;
}

std::shared_ptr<LogWindow> LogWindows::make(int ledger) {
    const MutexLock lock(mutex_);
    return make_one(ledger);
}

std::shared_ptr<LogWindow> LogWindows::join(const std::string& server, int ledger) {
    const MutexLock lock(mutex_);
    std::weak_ptr<LogWindow>& known = windows_[{server, ledger}];
    std::shared_ptr<LogWindow> window = known.lock();
    if (!window || window->discarded) {
        window = make_one(ledger);
        known = window;
        // Servers come and go; a window that is no longer used is forgotten.
        std::erase_if(windows_, [](const auto& entry) { return entry.second.expired(); });
    }
    return window;
}

void LogWindows::discard(const std::shared_ptr<LogWindow>& window) {
    const MutexLock lock(mutex_);
    window->discarded = true;
}

}  // namespace onceward
