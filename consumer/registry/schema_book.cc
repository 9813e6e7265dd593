#include "consumer/registry/schema_book.h"

#include <algorithm>
#include <utility>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using State = SchemaAnswer::State;
using Kind = RegistryAnswer::Kind;

// If a schema was not asked for during this time, nobody waits for it any more.
constexpr auto unasked_limit = 60s;

}  // namespace

SchemaAnswer SchemaBook::find(const SchemaId& id, Clock::time_point now) {
    const auto [found, added] = entries_.try_emplace(id);
    Entry& entry = found->second;
    if (added) want(entry, now);
    entry.asked = now;
    switch (entry.answer.state) {
        case State::pending: break;
        case State::known: uses_.splice(uses_.begin(), uses_, *entry.use); break;
        case State::unknown:
        case State::refused:
            if (now < entry.ends) break;
            // It may have been registered meanwhile.
            forget(entry);
            want(entry, now);
            break;
    }
    return entry.answer;
}

void SchemaBook::want(Entry& entry, Clock::time_point now) {
    entry = {.answer = {.state = State::pending, .reason = "it is being fetched"},
             .asked = now,
             .due = now};
    ++wanted_;
}

std::optional<SchemaId> SchemaBook::begin_fetch(Clock::time_point now) {
    forget_the_unasked(now);
    if (now < not_before_) return std::nullopt;
    auto next = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
        const Entry& entry = at->second;
        if (entry.answer.state != State::pending || entry.under_way || entry.due > now) continue;
        if (next == entries_.end() || entry.due < next->second.due) next = at;
    }
    if (next == entries_.end()) return std::nullopt;
    next->second.under_way = true;
    return next->first;
}

std::optional<SchemaBook::Clock::time_point> SchemaBook::next_due() const {
    std::optional<Clock::time_point> due;
    for (const auto& [id, entry] : entries_) {
        if (entry.answer.state != State::pending || entry.under_way) continue;
        due = std::min(due.value_or(entry.due), entry.due);
    }
    if (due) due = std::max(*due, not_before_);
    return due;
}

void SchemaBook::fetched(const SchemaId& id, const Resolution& result, Clock::time_point now,
                         double dice) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    Entry& entry = found->second;
    entry.under_way = false;
    if (result.kind == Kind::failed) {
        ++fetches_.failed;
        trouble_ = "registry `" + name_ + "` " + result.reason;
        entry.answer.reason = trouble_;
        if (result.retry_after) {
            // The other schemas can be had while another address answers.
            (result.another_answers ? entry.not_before : not_before_) = now + *result.retry_after;
        }
        entry.due = std::max(now + limits_.pauses.after(++entry.failures, dice), entry.not_before);
        return;
    }
    // The registry answers again: what failed before is fetched at once.
    if (!std::exchange(trouble_, "").empty()) {
        for (auto& [other, waiting] : entries_) {
            waiting.due = std::min(waiting.due, std::max(now, waiting.not_before));
        }
    }
    const std::string reason = "registry `" + name_ + "` " + result.reason;
    switch (result.kind) {
        case Kind::found:
            ++fetches_.found;
            entry.answer = {.state = State::known, .schema = result.schema};
            entry.bytes = size_of(*result.schema);
            break;
        case Kind::unknown:
            ++fetches_.unknown;
            entry.answer = {.state = State::unknown, .reason = reason};
            break;
        case Kind::refused:
        case Kind::failed:
            ++fetches_.refused;
            entry.answer = {.state = State::refused, .reason = reason};
            break;
    }
    entry.ends = now + limits_.unknown_for;
    keep(id, entry);
}

void SchemaBook::keep(const SchemaId& id, Entry& entry) {
    entry.bytes += sizeof(Entry) + entry.answer.reason.size();
    bytes_ += entry.bytes;
    entry.use = uses_.insert(uses_.begin(), id);
    forget_the_oldest();
}

void SchemaBook::forget(Entry& entry) {
    bytes_ -= entry.bytes;
    uses_.erase(*entry.use);
}

// The one that came last stays, however large it is: a message waits for it.
void SchemaBook::forget_the_oldest() {
    while (uses_.size() > 1 && (uses_.size() > limits_.schemas || bytes_ > limits_.bytes)) {
        const auto oldest = entries_.find(uses_.back());
        forget(oldest->second);
        entries_.erase(oldest);
    }
}

void SchemaBook::forget_the_unasked(Clock::time_point now) {
    std::erase_if(entries_, [&](const auto& item) {
        const Entry& entry = item.second;
        return entry.answer.state == State::pending && !entry.under_way &&
               entry.asked + unasked_limit < now;
    });
}

}  // namespace onceward
