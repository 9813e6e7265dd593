#pragma once
// What a process remembers for its page: how many messages it passed in the last hour, and which
// partitions it got, lost, halted. It begins with the process, is bounded, and nothing else keeps
// it. Pure: the clock is handed in; used by one thread.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "cli/admin/process_status.h"

namespace onceward {

struct PageEvent {
    enum class Kind : std::uint8_t { assigned, revoked, halted, moving, worker_ended };
    std::chrono::system_clock::time_point at{};
    Kind kind = Kind::assigned;
    int worker = 0;
    TopicPartition partition;  // none for worker_ended
    std::string text = {};     // why
};
std::string_view to_text(PageEvent::Kind kind);

struct PageSample {
    std::chrono::system_clock::time_point at{};
    Totals totals;         // of this process since its start
    std::int64_t lag = 0;  // of its partitions, as far as it is known
};

class PageMemory {
  public:
    static constexpr std::size_t most_samples = 360;  // an hour
    static constexpr std::size_t most_events = 500;
    static constexpr std::chrono::seconds sample_every{10};

    void look(std::chrono::system_clock::time_point now, const ProcessStatus& status);
    const std::deque<PageSample>& samples() const { return samples_; }
    // The oldest first.
    const std::deque<PageEvent>& events() const { return events_; }
    bool forgot_events() const { return forgot_events_; }

  private:
    struct Seen {
        int worker = 0;
        bool halted = false;
    };
    void note(PageEvent event);

    std::deque<PageSample> samples_;
    std::deque<PageEvent> events_;
    std::map<TopicPartition, Seen> seen_;
    std::map<int, std::string> ended_;
    bool forgot_events_ = false;
};

}  // namespace onceward
