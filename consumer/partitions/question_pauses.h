#pragma once
// When the brokers may be asked about a topic again after a question that failed. Such a question
// may take seconds, in which the worker does nothing else. But while nobody asks, added partitions
// are not noticed. So the first pause is short, and each failure in a row doubles it. A failure
// that took long pauses the questions about all topics: the next one may take as long. Not
// thread-safe; owns its memory.

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "dedup/base/backoff.h"

namespace onceward {

class QuestionPauses {
  public:
    using Clock = std::chrono::steady_clock;
    explicit QuestionPauses(std::chrono::milliseconds longest)
        : pauses_{std::min(longest, std::chrono::milliseconds(1000)), longest} {}

    bool may_ask(const std::string& topic, Clock::time_point now) const {
        const auto found = topics_.find(topic);
        return now >= none_before_ &&
               (found == topics_.end() || now >= found->second.not_before);
    }
    // `lost`: the time that the question took.
    void failed(const std::string& topic, Clock::time_point now, Clock::duration lost) {
        Topic& failing = topics_[topic];
        failing.not_before = now + pauses_.whole(++failing.failures);
        // With pauses for each topic alone, three topics whose leaders are away would take all of
        // the worker's time.
        if (lost >= long_question) {
            none_before_ = now + std::min<Clock::duration>(3 * lost, pauses_.longest);
        }
    }
    void answered(const std::string& topic) { topics_.erase(topic); }

  private:
    static constexpr std::chrono::seconds long_question{1};
    struct Topic {
        int failures = 0;  // in a row
        Clock::time_point not_before;
    };
    Backoff pauses_;
    std::map<std::string, Topic> topics_;
    Clock::time_point none_before_{};
};

}  // namespace onceward
