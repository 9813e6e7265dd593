#pragma once
// Status queries that wait for PostgreSQL, which may never answer. Each is answered once, when its
// key was read or at its deadline; a query that was handed out to be read stays here until then.
// Not thread-safe: its user's mutex guards it. The answers are sent without the mutex.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dedup/message/digest.h"
#include "gateway/requests/answers.h"

namespace onceward {

struct StatusQuestion {
    using Then = std::function<void(StatusOutcome)>;
    using Clock = std::chrono::steady_clock;
    Digest key;
    Then then;
    Clock::time_point deadline;
    std::atomic<bool> told{false};
    // Does nothing if it was answered before. Callable from any thread.
    void tell(StatusOutcome outcome) {
        if (!told.exchange(true)) then(std::move(outcome));
    }
};

class StatusQuestions {
  public:
    using Clock = StatusQuestion::Clock;
    using Pointer = std::shared_ptr<StatusQuestion>;

    // Returns false if `most` wait already: this one was not taken (`then` is left as it was).
    bool ask(const Digest& key, StatusQuestion::Then& then, Clock::time_point deadline,
             std::size_t most) {
        while (!open_.empty() && open_.front()->told) open_.pop_front();
        if (open_.size() >= most) return false;
        open_.push_back(std::make_shared<StatusQuestion>(key, std::move(then), deadline));
        unread_.push_back(open_.back());
        return true;
    }
    bool none_unread() const { return unread_.empty(); }
    std::vector<Pointer> take_unread() { return std::exchange(unread_, {}); }
    // Takes the queries past their deadline, in the order of their deadlines.
    std::vector<Pointer> take_overdue(Clock::time_point now) {
        std::vector<Pointer> overdue;
        while (!open_.empty() && (open_.front()->told || open_.front()->deadline <= now)) {
            if (!open_.front()->told) overdue.push_back(open_.front());
            open_.pop_front();
        }
        return overdue;
    }
    std::vector<Pointer> take_all() {
        unread_.clear();
        const std::deque<Pointer> all = std::exchange(open_, {});
        return {all.begin(), all.end()};
    }
    Clock::time_point next_deadline() const {
        return open_.empty() ? never : open_.front()->deadline;
    }

  private:
    std::deque<Pointer> open_;     // all that may still be unanswered; their deadlines ascend
    std::vector<Pointer> unread_;  // those that nobody has taken to read
};

inline std::vector<Digest> keys_of(const std::vector<StatusQuestions::Pointer>& questions) {
    std::vector<Digest> keys;
    for (const auto& question : questions) keys.push_back(question->key);
    return keys;
}

// Answers each with what was read of it; `known` is nullopt if nothing could be read.
inline void tell(const std::vector<StatusQuestions::Pointer>& questions,
                 std::optional<std::vector<StatusOutcome>> known = std::nullopt) {
    for (std::size_t i = 0; i < questions.size(); ++i) {
        questions[i]->tell(known ? std::move((*known)[i]) : StatusOutcome(ask_again_soon()));
    }
}

}  // namespace onceward
