#include "consumer/relay/relay_book.h"

#include <algorithm>
#include <utility>

#include "dedup/base/backoff.h"

namespace onceward {

using std::chrono::milliseconds;

namespace {

// How long a key or topic is held after its n-th failure in a row.
constexpr Backoff holds{.first = milliseconds(1'000), .longest = milliseconds(60'000)};
constexpr milliseconds longest_relay_pause{30'000};

}  // namespace

std::size_t OutboxRecord::bytes() const {
    return (key ? key->size() : 0) + (payload ? payload->size() : 0) + headers.size();
}

milliseconds relay_pause(RelayTerm term, milliseconds last, milliseconds take_over_every) {
    if (term == RelayTerm::sent) return first_relay_pause;
    if (term == RelayTerm::gave_up) return 2 * take_over_every;
    return std::min(2 * last, term == RelayTerm::waited ? take_over_every : longest_relay_pause);
}

RelayBook::Lane RelayBook::lane_of(const OutboxRecord& record) {
    return {record.topic, record.order_key, record.order_key ? 0 : record.position};
}

void RelayBook::add(std::vector<OutboxRecord> records) {
    for (OutboxRecord& record : records) {
        Lane lane = lane_of(record);
        std::deque<OutboxRecord>& rows = lanes_[lane];
        // Later rows stay in the table and are read later.
        if (rows.size() >= limits_.rows_of_key) continue;
        if (!rows.empty() && record.position <= rows.back().position) continue;
        ++rows_;
        bytes_ += record.bytes();
        rows.push_back(std::move(record));
        if (rows.size() == 1) ready_.push_back(std::move(lane));
    }
}

const OutboxRecord* RelayBook::next() {
    while (!ready_.empty()) {
        const Lane lane = std::move(ready_.front());
        ready_.pop_front();
        const auto found = lanes_.find(lane);
        // It has been dropped since then, with its topic.
        if (found == lanes_.end()) continue;
        const OutboxRecord& record = found->second.front();
        if (!under_way_.emplace(record.position, lane).second) continue;
        return &record;
    }
    return nullptr;
}

void RelayBook::drop_from(std::deque<OutboxRecord>& rows, std::size_t first) {
    while (rows.size() > first) {
        --rows_;
        bytes_ -= rows.back().bytes();
        rows.pop_back();
    }
}

void RelayBook::end(Lanes::iterator lane) {
    drop_from(lane->second, 0);
    lanes_.erase(lane);
}

void RelayBook::delivered(std::int64_t position) {
    const auto entry = under_way_.find(position);
    if (entry == under_way_.end()) return;
    const auto lane = lanes_.find(entry->second);
    under_way_.erase(entry);
    std::deque<OutboxRecord>& rows = lane->second;
    sent_.push_back({rows.front().topic, position, rows.front().id});
    held_topics_.erase(rows.front().topic);
    held_lanes_.erase(lane->first);
    --rows_;
    bytes_ -= rows.front().bytes();
    rows.pop_front();
    if (rows.empty()) {
        lanes_.erase(lane);
    } else {
        ready_.push_back(lane->first);
    }
}

RelayBook::Held RelayBook::extend(const std::string& topic, Hold& hold, Clock::time_point now) {
    const bool first = hold.failures == 0;
    const milliseconds pause = holds.whole(++hold.failures);
    hold.until = now + pause;
    return {topic, first, pause};
}

RelayBook::Held RelayBook::hold_topic(const std::string& topic, Clock::time_point now) {
    Hold& hold = held_topics_[topic];
    // Rows that were under way at the same time fail for the same reason: one failure, not many.
    const bool again = hold.until > now;
    const auto left = std::chrono::duration_cast<milliseconds>(hold.until - now);
    const Held held = again ? Held{topic, false, left} : extend(topic, hold, now);
    const auto first = Lane{topic, std::nullopt, INT64_MIN};
    for (auto lane = lanes_.lower_bound(first);
         lane != lanes_.end() && lane->first.topic == topic;) {
        const auto here = lane++;
        // The outcome of a row that is under way is still unknown.
        if (under_way_.contains(here->second.front().position)) {
            drop_from(here->second, 1);
        } else {
            end(here);
        }
    }
    std::erase_if(held_lanes_, [&](const auto& entry) { return entry.first.topic == topic; });
    return held;
}

std::optional<RelayBook::Held> RelayBook::failed(std::int64_t position, SendFailure failure,
                                                 Clock::time_point now) {
    const auto entry = under_way_.find(position);
    if (entry == under_way_.end()) return std::nullopt;
    const Lane lane = std::move(entry->second);
    under_way_.erase(entry);
    // DANGER: drop it together with the rows after it, which would overtake it. All of them are
    // read again.
    end(lanes_.find(lane));
    if (failure == SendFailure::topic) return hold_topic(lane.topic, now);
    const auto of_topic = std::ranges::count_if(
        held_lanes_, [&](const auto& held) { return held.first.topic == lane.topic; });
    const bool is_held = held_lanes_.contains(lane);
    if (!is_held && of_topic >= static_cast<std::ptrdiff_t>(limits_.held_keys)) {
        return hold_topic(lane.topic, now);
    }
    return extend(lane.topic, held_lanes_[lane], now);
}

void RelayBook::forget_old(Clock::time_point now) {
    const auto is_old = [&](const Hold& hold) { return hold.until + holds.longest < now; };
    std::erase_if(held_lanes_, [&](const auto& entry) {
        return is_old(entry.second) && !lanes_.contains(entry.first);
    });
    std::erase_if(held_topics_, [&](const auto& entry) {
        const auto lane = lanes_.lower_bound(Lane{entry.first, std::nullopt, INT64_MIN});
        const bool is_tried = lane != lanes_.end() && lane->first.topic == entry.first;
        return is_old(entry.second) && !is_tried;
    });
}

std::vector<SentRow> RelayBook::take_sent() { return std::exchange(sent_, {}); }

RelayBook::LeftOut RelayBook::left_out(Clock::time_point now) const {
    LeftOut out;
    const auto add_lane = [&](const Lane& lane) {
        if (!lane.order_key) {
            out.positions.push_back(lane.position);
            return;
        }
        out.key_topics.push_back(lane.topic);
        out.keys.push_back(*lane.order_key);
    };
    for (const auto& [topic, hold] : held_topics_) {
        if (hold.until > now) out.topics.push_back(topic);
    }
    for (const auto& [lane, hold] : held_lanes_) {
        if (hold.until > now) add_lane(lane);
    }
    for (const auto& [lane, rows] : lanes_) add_lane(lane);
    return out;
}

std::optional<RelayBook::Clock::time_point> RelayBook::next_try(Clock::time_point now) const {
    std::optional<Clock::time_point> first;
    const auto look = [&](const Hold& hold) {
        if (hold.until > now && (!first || hold.until < *first)) first = hold.until;
    };
    for (const auto& [topic, hold] : held_topics_) look(hold);
    for (const auto& [lane, hold] : held_lanes_) look(hold);
    return first;
}

}  // namespace onceward
