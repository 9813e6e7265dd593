#include "dedup/policy/slice_log.h"

#include <utility>

#include "dedup/base/logging.h"

namespace onceward {

void SliceLog::tell(const SliceOutcomes& sorted) {
    if (sorted.behind > 0) {
        log_warning("messages.behind", {{"topic", topic_}, {"messages", sorted.behind}});
    }
    if (!sorted.hot.empty()) {
        const Message& first = *sorted.hot.front();
        log_warning("messages.hot_key", {{"topic", topic_},
                                         {"messages", sorted.hot.size()},
                                         {"partition", first.record.partition.raw()},
                                         {"offset", first.record.offset.raw()},
                                         {"digest", hex(first.digest)}});
    }
    tell_of_rejected(sorted);
    if (sorted.conflicts.empty()) return;
    const Record& first = sorted.conflicts.front()->record;
    log_warning("messages.conflict", {{"topic", topic_},
                                      {"messages", sorted.conflicts.size()},
                                      {"partition", first.partition.raw()},
                                      {"offset", first.offset.raw()}});
}

// What PostgreSQL refused was logged when it was found, and the others below have lines of their
// own. One line a second at most: a topic of nothing but garbage must not fill a disk.
void SliceLog::tell_of_rejected(const SliceOutcomes& sorted) {
    const Message* first = nullptr;
    for (const Message* message : sorted.rejected) {
        const Rejection::Kind kind = message->rejection->kind;
        if (kind == Rejection::Kind::sink || kind == Rejection::Kind::conflict ||
            kind == Rejection::Kind::behind || kind == Rejection::Kind::hot_key) {
            continue;
        }
        ++untold_;
        if (first == nullptr) first = message;
    }
    const auto now = std::chrono::steady_clock::now();
    if (first == nullptr || now < next_line_) return;
    next_line_ = now + std::chrono::seconds(1);
    log_warning("messages.rejected", {{"topic", topic_},
                                      {"messages", std::exchange(untold_, 0)},
                                      {"partition", first->record.partition.raw()},
                                      {"offset", first->record.offset.raw()},
                                      {"class", to_text(first->rejection->kind)},
                                      {"error", describe(*first->rejection)}});
}

}  // namespace onceward
