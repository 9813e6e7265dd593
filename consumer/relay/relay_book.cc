#include "consumer/relay/relay_book.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dedup/base/backoff.h"
#include "dedup/policy/share.h"

namespace onceward {

using std::chrono::milliseconds;

namespace {

// How long a key or topic is held after its n-th failure in a row.
constexpr Backoff holds{.first = milliseconds(1'000), .longest = milliseconds(60'000)};
constexpr milliseconds longest_relay_pause{30'000};
// Kafka's answer takes milliseconds, or as long as a round trip around the world.
constexpr milliseconds slow_after{500};

}  // namespace

std::size_t OutboxRecord::bytes() const {
    return (key ? key->size() : 0) + (payload ? payload->size() : 0) + headers.size();
}

milliseconds relay_pause(RelayTerm term, milliseconds last, milliseconds take_over_every) {
    if (term == RelayTerm::sent) return first_relay_pause;
    if (term == RelayTerm::gave_up) return 2 * take_over_every;
    return std::min(2 * last, term == RelayTerm::waited ? take_over_every : longest_relay_pause);
}

void RelayBook::Amount::add(const Row& row) {
    ++rows;
    bytes += row.counted;
    if (row.is_cut()) cut += row.record.bytes();
}

void RelayBook::Amount::remove(const Row& row) {
    --rows;
    bytes -= row.counted;
    if (row.is_cut()) cut -= row.record.bytes();
}

RelayBook::Lane RelayBook::lane_of(const OutboxRecord& record) {
    return {record.topic, record.order_key, record.order_key ? 0 : record.position};
}

bool RelayBook::fills_share(const Amount& amount, std::size_t parts) const {
    const auto part = [parts](std::size_t limit, std::size_t used) {
        return share_beside(limit - std::min(limit, used)) / parts;
    };
    return amount.rows >= part(limits_.all_rows, all_.rows) ||
           amount.bytes >= part(limits_.all_bytes, all_.bytes);
}

std::optional<std::size_t> RelayBook::room_for(const Topic& topic, std::size_t bytes) const {
    if (all_.rows >= limits_.all_rows || all_.bytes >= limits_.all_bytes) return std::nullopt;
    const Amount& taken = topic.amount;
    if (taken.rows >= share_beside(limits_.all_rows - all_.rows)) return std::nullopt;
    const std::size_t free = limits_.all_bytes - all_.bytes;
    if (bytes < free && taken.bytes + bytes <= share_beside(free - bytes)) return bytes;
    // The row is larger than what the topic has left. If it waited until the topic has no row at
    // all, the tries of held keys might keep it waiting for ever.
    if (taken.rows > 0 && fills_share(taken, 8)) return std::nullopt;
    // With what is left to it the topic has four times as much as nobody has. Rounded up, so that a
    // first row passes if the book has any room.
    const std::size_t left = (share_beside(free) - taken.bytes + 4) / 5;
    if (bytes > left && !may_cut(topic, bytes)) return std::nullopt;
    return std::min(bytes, left);
}

bool RelayBook::may_cut(const Topic& topic, std::size_t bytes) const {
    if (all_.cut == 0) return true;
    return topic.amount.cut == 0 && all_.cut == slow_.cut && all_.cut + bytes <= limits_.cut_bytes;
}

bool RelayBook::is_full(const Topic& topic) const {
    return is_tried(topic) || !room_for(topic, std::max<std::size_t>(topic.refused, 1));
}

void RelayBook::add(std::vector<OutboxRecord> records) {
    std::size_t bytes = 0;
    for (const OutboxRecord& record : records) bytes += record.bytes();
    more_ = records.size() >= room_rows() || bytes >= room_bytes();
    bool found_all = !more_;
    std::set<const Topic*> full;
    for (OutboxRecord& record : records) {
        Lane name = lane_of(record);
        Topic& topic = topics_[name.topic];
        const auto counted = room_for(topic, record.bytes());
        // DANGER: no reason to skip a row may end before the last one is added. A later row of its
        // key would be taken, and overtake it: a small one has room where a large one has none.
        // What is skipped is read again.
        if (full.contains(&topic) || is_tried(topic) || !counted) {
            if (full.insert(&topic).second) topic.refused = record.bytes();
            found_all = false;
            continue;
        }
        LaneState& lane = topic.lanes[name];
        const bool is_try = topic.hold.failures > 0 || lane.hold.failures > 0;
        if (lane.rows.size() >= (is_try ? 1 : limits_.rows_of_key)) {
            lane.more = true;
            continue;
        }
        const bool is_first = lane.rows.empty();
        if (!is_first && record.position <= lane.rows.back().record.position) continue;
        lane.rows.push_back({std::move(record), *counted});
        topic.amount.add(lane.rows.back());
        all_.add(lane.rows.back());
        if (is_first) ready_.push_back(std::move(name));
    }
    if (found_all) forget_deleted();
}

void RelayBook::forget_deleted() {
    for (const Lane& name : tried_) {
        Topic& topic = topics_.at(name.topic);
        const auto lane = topic.lanes.find(name);
        if (lane == topic.lanes.end() || !lane->second.rows.empty()) continue;
        topic.lanes.erase(lane);
        --topic.held;
    }
    for (const std::string& name : tried_topics_) {
        Topic& topic = topics_.at(name);
        if (topic.amount.rows == 0) topic.hold = {};
    }
    tried_.clear();
    tried_topics_.clear();
}

const OutboxRecord* RelayBook::next(Clock::time_point now) {
    for (std::size_t left = ready_.size(); left > 0; --left) {
        const Lane name = std::move(ready_.front());
        ready_.pop_front();
        // Its rows may have been dropped since then, with its topic.
        const auto topic = topics_.find(name.topic);
        if (topic == topics_.end()) continue;
        const auto lane = topic->second.lanes.find(name);
        if (lane == topic->second.lanes.end() || lane->second.rows.empty()) continue;
        const OutboxRecord& record = lane->second.rows.front().record;
        const auto [entry, is_new] = under_way_.emplace(record.position, name);
        if (!is_new) {
            // Rows of two topics may have the same position. Kafka's answer names only that, so
            // that the second row waits for the first one's answer.
            if (entry->second != name) ready_.push_back(name);
            continue;
        }
        young_.push_back({now, record.position});
        return &record;
    }
    return nullptr;
}

void RelayBook::set_aside_slow(Clock::time_point now) {
    for (; !young_.empty() && young_.front().at + slow_after <= now; young_.pop_front()) {
        const auto entry = under_way_.find(young_.front().position);
        if (entry == under_way_.end()) continue;
        Topic& topic = topics_.at(entry->second.topic);
        LaneState& lane = topic.lanes.at(entry->second);
        if (lane.slow) continue;
        drop_later(topic, lane);
        lane.slow = true;
        slow_.add(lane.rows.front());
    }
}

void RelayBook::drop_first(Topic& topic, LaneState& lane) {
    const Row& row = lane.rows.front();
    if (lane.slow) slow_.remove(row);
    lane.slow = false;
    topic.amount.remove(row);
    all_.remove(row);
    lane.rows.pop_front();
}

void RelayBook::drop_later(Topic& topic, LaneState& lane) {
    while (lane.rows.size() > 1) {
        topic.amount.remove(lane.rows.back());
        all_.remove(lane.rows.back());
        lane.rows.pop_back();
        lane.more = true;
    }
}

void RelayBook::delivered(std::int64_t position, Clock::time_point now) {
    const auto entry = under_way_.find(position);
    if (entry == under_way_.end()) return;
    const Lane name = std::move(entry->second);
    under_way_.erase(entry);
    Topic& topic = topics_.at(name.topic);
    LaneState& lane = topic.lanes.at(name);
    sent_.push_back({name.topic, position, lane.rows.front().record.id});
    drop_first(topic, lane);
    if (lane.hold.failures > 0) --topic.held;
    lane.hold = {};
    // A hold that has not ended began while this record was under way, because others failed. They
    // would return at once without it.
    if (topic.hold.until <= now) topic.hold = {};
    if (!lane.rows.empty()) {
        ready_.push_back(name);
        return;
    }
    more_ = more_ || lane.more;
    topic.lanes.erase(name);
}

RelayBook::Held RelayBook::extend(const std::string& topic, Hold& hold, Clock::time_point now) {
    const bool first = hold.failures == 0;
    const milliseconds pause = holds.whole(++hold.failures);
    hold.until = now + pause;
    return {topic, first, pause};
}

RelayBook::Held RelayBook::hold_topic(const std::string& name, Topic& topic,
                                      Clock::time_point now) {
    // Rows that were under way at the same time fail for the same reason: one failure, not many.
    const bool again = topic.hold.until > now;
    const auto left = std::chrono::duration_cast<milliseconds>(topic.hold.until - now);
    const Held held = again ? Held{name, false, left} : extend(name, topic.hold, now);
    for (auto& [of_lane, lane] : topic.lanes) {
        if (lane.rows.empty()) continue;
        drop_later(topic, lane);
        // The outcome of a row that is under way is still unknown.
        if (!under_way_.contains(lane.rows.front().record.position)) drop_first(topic, lane);
    }
    std::erase_if(topic.lanes, [](const auto& entry) {
        return entry.second.rows.empty() && entry.second.hold.failures == 0;
    });
    return held;
}

std::optional<RelayBook::Held> RelayBook::failed(std::int64_t position, SendFailure failure,
                                                 Clock::time_point now) {
    const auto entry = under_way_.find(position);
    if (entry == under_way_.end()) return std::nullopt;
    const Lane name = std::move(entry->second);
    under_way_.erase(entry);
    Topic& topic = topics_.at(name.topic);
    LaneState& lane = topic.lanes.at(name);
    // DANGER: drop it together with the rows after it, which would overtake it. All of them are
    // read again.
    drop_later(topic, lane);
    drop_first(topic, lane);
    const bool first = lane.hold.failures == 0;
    if (failure == SendFailure::topic || (first && topic.held >= limits_.held_keys)) {
        return hold_topic(name.topic, topic, now);
    }
    if (first) ++topic.held;
    return extend(name.topic, lane.hold, now);
}

std::vector<SentRow> RelayBook::take_sent() { return std::exchange(sent_, {}); }

void RelayBook::leave_out(const Lane& lane, LeftOut& out) {
    if (!lane.order_key) {
        out.positions.push_back(lane.position);
        return;
    }
    out.key_topics.push_back(lane.topic);
    out.keys.push_back(*lane.order_key);
}

void RelayBook::leave_out_lanes(Topic& topic, Clock::time_point now, LeftOut& out) {
    std::size_t places = tries();
    Amount slow_tries;
    std::vector<std::pair<const Lane, LaneState>*> ended;
    for (auto& entry : topic.lanes) {
        const auto& [name, lane] = entry;
        if (lane.rows.empty() && lane.hold.until <= now) {
            ended.push_back(&entry);
            continue;
        }
        leave_out(name, out);
        const bool is_try = !lane.rows.empty() && lane.hold.failures > 0;
        // Kafka does not answer it, but it may answer others.
        if (is_try && lane.slow) slow_tries.add(lane.rows.front());
        if (is_try && !lane.slow && places > 0) --places;
    }
    // The topic's keys that are not held need room too.
    if (fills_share(slow_tries, 2)) places = 0;
    std::ranges::stable_sort(ended, {}, [](const auto* entry) { return entry->second.hold.until; });
    for (auto* entry : ended) {
        auto& [name, lane] = *entry;
        if (places == 0) {
            leave_out(name, out);
            continue;
        }
        --places;
        tried_.push_back(name);
        // If the read does not find its row, the others have their turn first. Somebody may have
        // deleted the row, which is known only after a read that finds all rows.
        lane.hold.until = now;
    }
}

RelayBook::LeftOut RelayBook::left_out(Clock::time_point now) {
    tried_.clear();
    tried_topics_.clear();
    std::erase_if(topics_, [](const auto& entry) {
        const Topic& topic = entry.second;
        return topic.lanes.empty() && topic.hold.failures == 0 && topic.refused == 0;
    });
    LeftOut out;
    for (auto& [name, topic] : topics_) {
        if (topic.hold.until > now || is_full(topic)) {
            out.topics.push_back(name);
            continue;
        }
        topic.refused = 0;
        if (topic.hold.failures > 0) tried_topics_.push_back(name);
        leave_out_lanes(topic, now, out);
    }
    return out;
}

std::optional<RelayBook::Clock::time_point> RelayBook::next_try(Clock::time_point now) const {
    std::optional<Clock::time_point> first;
    const auto look = [&](const Hold& hold) {
        if (!first || hold.until < *first) first = hold.until;
    };
    for (const auto& [name, topic] : topics_) {
        const bool is_tried = topic.hold.until <= now && topic.amount.rows > 0;
        if (topic.hold.failures > 0 && !is_tried) look(topic.hold);
        // The keys of a held topic wait for it.
        if (topic.hold.until > now) continue;
        for (const auto& [of_lane, lane] : topic.lanes) {
            if (lane.rows.empty()) look(lane.hold);
        }
    }
    return first;
}

std::size_t RelayBook::held_topics() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        topics_, [](const auto& entry) { return entry.second.hold.failures > 0; }));
}

std::size_t RelayBook::held_keys() const {
    std::size_t keys = 0;
    for (const auto& [name, topic] : topics_) keys += topic.held;
    return keys;
}

}  // namespace onceward
