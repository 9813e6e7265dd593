#include "dedup/leases/lease_state.h"

#include <algorithm>

#include "dedup/base/expects.h"

namespace onceward {
namespace {

void count(Totals& totals, MessageEnd ending) {
    switch (ending) {
        case MessageEnd::applied: ++totals.applied; return;
        case MessageEnd::duplicate: ++totals.duplicates; return;
        case MessageEnd::conflict: ++totals.conflicts; return;
        case MessageEnd::dead_lettered: ++totals.dead_lettered; return;
        case MessageEnd::skipped: ++totals.skipped; return;
    }
}

}  // namespace

std::string_view to_text(MessageEnd end) {
    switch (end) {
        case MessageEnd::applied: return "applied";
        case MessageEnd::duplicate: return "duplicate";
        case MessageEnd::conflict: return "conflict";
        case MessageEnd::dead_lettered: return "dead_lettered";
        case MessageEnd::skipped: return "skipped";
    }
    return "";
}

void FinishedPrefix::add(Offset offset, LeaderEpoch leader_epoch) {
    expects(entries_.empty() || offset > entries_.back().offset, "the offsets of a partition grow");
    entries_.push_back({offset, leader_epoch, std::nullopt});
}

FinishedPrefix::Entry& FinishedPrefix::find(Offset offset) {
    const auto found = std::ranges::lower_bound(entries_, offset, {}, &Entry::offset);
    expects(found != entries_.end() && found->offset == offset,
            "a message that ends is in its span");
    return *found;
}

void FinishedPrefix::finish(Offset offset, MessageEnd ending) { find(offset).ending = ending; }

void FinishedPrefix::reopen(Offset offset) { find(offset).ending.reset(); }

std::deque<FinishedPrefix::Entry>::const_iterator FinishedPrefix::first_open_entry() const {
    return std::ranges::find_if(entries_, [](const Entry& entry) { return !entry.ending; });
}

std::optional<FenceMove> FinishedPrefix::due() const {
    const auto open = first_open_entry();
    FenceMove move{span_, {}};
    for (auto entry = entries_.begin(); entry != open; ++entry) count(move.totals, *entry->ending);
    if (open == entries_.end()) {
        if (span_.begin == span_.end) return std::nullopt;
        return move;
    }
    if (open == entries_.begin()) return std::nullopt;
    const Entry& last = *std::prev(open);
    move.span.end = next(last.offset);
    move.span.leader_epoch = last.leader_epoch;
    return move;
}

std::vector<Offset> FinishedPrefix::passed() const {
    std::vector<Offset> offsets;
    const auto open = first_open_entry();
    for (auto entry = entries_.begin(); entry != open; ++entry) offsets.push_back(entry->offset);
    return offsets;
}

void FinishedPrefix::moved(const FenceMove& move) {
    span_.begin = move.span.end;
    while (!entries_.empty() && entries_.front().offset < span_.begin) entries_.pop_front();
}

std::optional<Offset> FinishedPrefix::first_open() const {
    const auto open = first_open_entry();
    if (open == entries_.end()) return std::nullopt;
    return open->offset;
}

}  // namespace onceward
