#pragma once
// When the brokers may be asked about a topic again after a question that failed. Such a question
// may take seconds, in which the worker does nothing else. But while nobody asks, added partitions
// are not noticed. So the first pause is short, and each failure in a row doubles it. Not
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
        return found == topics_.end() || now >= found->second.not_before;
    }
    void failed(const std::string& topic, Clock::time_point now) {
        Topic& failing = topics_[topic];
        failing.not_before = now + pauses_.whole(++failing.failures);
    }
    void answered(const std::string& topic) { topics_.erase(topic); }

  private:
    struct Topic {
        int failures = 0;  // in a row
        Clock::time_point not_before;
    };
    Backoff pauses_;
    std::map<std::string, Topic> topics_;
};

}  // namespace onceward
