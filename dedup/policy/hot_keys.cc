#include "dedup/policy/hot_keys.h"

#include <algorithm>
#include <iterator>

namespace onceward {
namespace {

// A message whose key was not found has none to count.
bool carries_key(const Message& message) { return message.digest != Digest{}; }

}  // namespace

HotKeys::HotKeys(HotKeyPolicy policy, std::size_t most_keys)
    : policy_(policy), most_keys_(most_keys) {}

// By the message's own time, so that a backlog is not taken for a burst. A time in the future
// counts as now: otherwise a wrong clock's messages would shut out those that come now.
std::int64_t HotKeys::window_of(const Message& message, Time now) const {
    return std::min(message.record.timestamp.value_or(now), now) / policy_.within;
}

// Counts a message. False if its window has already ended for this key.
bool HotKeys::add(Count& count, std::int64_t window) {
    if (window < count.window) return false;
    if (window > count.window) count = {window, 0};
    ++count.times;
    return true;
}

std::vector<Message*> HotKeys::mark(const Slice& slice, Time now) {
    std::vector<Message*> marked;
    if (policy_.most == 0) return marked;
    const bool again = std::ranges::any_of(slice.spans, [&](const Span& span) {
        const auto counted = counted_.find(span.partition);
        return counted != counted_.end() && span.begin < counted->second;
    });
    if (again) {
        counts_.clear();
        counted_.clear();
    }
    std::unordered_map<Digest, Count> here;
    here.reserve(slice.messages.size());
    for (Message* message : slice.messages) {
        if (!carries_key(*message)) continue;
        const auto [count, first] = here.try_emplace(message->digest);
        if (first) {
            const auto known = counts_.find(message->digest);
            if (known != counts_.end()) count->second = known->second;
        }
        if (!add(count->second, window_of(*message, now))) continue;
        if (count->second.times <= policy_.most || message->rejection || message->skipped) continue;
        message->rejection =
            Rejection{Rejection::Kind::hot_key,
                      "the key has occurred more than " + std::to_string(policy_.most) +
                          " times within " + std::to_string(policy_.within.count()) + " ms",
                      "", 1};
        marked.push_back(message);
    }
    return marked;
}

// Called instead of adding one more key: it and one message of each present key cancel out. As many
// messages have come as are forgotten here, so it is cheap on average.
void HotKeys::cancel_out(std::int64_t window) {
    for (auto entry = counts_.begin(); entry != counts_.end();) {
        Count& count = entry->second;
        const bool gone = count.window < window || --count.times == 0;
        entry = gone ? counts_.erase(entry) : std::next(entry);
    }
}

void HotKeys::passed(const Slice& slice, Time now) {
    if (policy_.most == 0) return;
    for (const Message* message : slice.messages) {
        if (!carries_key(*message)) continue;
        const std::int64_t window = window_of(*message, now);
        if (const auto known = counts_.find(message->digest); known != counts_.end()) {
            add(known->second, window);
        } else if (counts_.size() < most_keys_) {
            counts_.emplace(message->digest, Count{window, 1});
        } else {
            cancel_out(window);
        }
    }
    for (const Span& span : slice.spans) counted_[span.partition] = span.end;
}

}  // namespace onceward
