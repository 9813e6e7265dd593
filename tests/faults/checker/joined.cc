#include "tests/faults/checker/joined.h"

#include <algorithm>
#include <set>

namespace onceward::checker {
namespace {

constexpr std::size_t most_problems = 20;

bool has_gaps(const std::vector<Generation>& generations) {
    std::map<int, std::set<std::int64_t>> listed;
    for (const Generation& generation : generations) {
        if (!generation.listed) continue;
        const std::int64_t last = std::max(generation.generation, generation.last);
        for (std::int64_t one = generation.generation; one <= last; ++one) {
            listed[generation.ledger].insert(one);
        }
    }
    return std::ranges::any_of(listed, [](const auto& ledger) {
        return *ledger.second.rbegin() != static_cast<std::int64_t>(ledger.second.size());
    });
}

}  // namespace

std::pair<std::int64_t, std::int64_t> PartitionView::count(std::int64_t begin,
                                                           std::int64_t end) const {
    std::int64_t least = 0;
    std::int64_t most = 0;
    auto message = std::ranges::lower_bound(messages, begin, {},
                                            [](const Message& m) { return m.place.offset; });
    for (; message != messages.end() && message->place.offset < end; ++message) {
        ++most;
        if (message->in_log) ++least;
    }
    return {least, most};
}

Joined::Joined(const Evidence& evidence) : evidence_(evidence) {
    generations_dropped_ = !evidence.drops.empty() || has_gaps(evidence.generations);
    join_log();
    for (const Fence& fence : evidence.fences) {
        PartitionView& view = partitions_[fence.name];
        view.name = fence.name;
        view.fence = &fence;
    }
    for (const FenceMove& move : evidence.moves) {
        PartitionView& view = partitions_[move.name];
        view.name = move.name;
        view.moves.push_back(&move);
    }
    for (auto& [name, view] : partitions_) {
        std::ranges::sort(view.moves, {}, &FenceMove::sequence);
        if (view.fence == nullptr) continue;
        for (Message& message : view.messages) {
            message.passed = message.place.offset >= view.fence->first_offset &&
                             message.place.offset < view.fence->next_offset;
        }
    }
    join_rows();
    join_keys();
    join_failures();
    settle_outcomes();
}

const TopicSettings& Joined::topic(int number) const {
    static const TopicSettings unknown;
    const auto index = static_cast<std::size_t>(number);
    return number >= 0 && index < evidence_.topics.size() ? evidence_.topics[index] : unknown;
}

void Joined::join_log() {
    std::unordered_map<std::uint64_t, const ProducedMessage*> produced;
    produced.reserve(evidence_.produced.size());
    for (const ProducedMessage& message : evidence_.produced) {
        if (!produced.emplace(message.id, &message).second) {
            problems_.push_back("two produced messages have the id " + std::to_string(message.id));
        }
    }
    for (const PartitionLog& log : evidence_.log) {
        PartitionView& view = partitions_[log.name];
        view.name = log.name;
        view.end = log.end;
        view.end_known = true;
        view.messages.reserve(log.records.size());
        for (const LogRecord& record : log.records) {
            const Place place{log.name.topic, log.name.partition, record.offset};
            const auto found = produced.find(record.id);
            if (found == produced.end()) {
                problems_.push_back("nobody produced the message " + std::to_string(record.id) +
                                    " at " + describe(place));
                continue;
            }
            view.messages.push_back({.place = place, .produced = found->second});
        }
        std::ranges::sort(view.messages, {}, &Message::place);
    }
    add_what_was_deleted();
    if (problems_.size() > most_problems) problems_.resize(most_problems);
}

// What the broker has acknowledged and no longer holds: deleted at the log's beginning, where the
// fence may have passed it, or compacted away.
void Joined::add_what_was_deleted() {
    std::map<PartitionName, std::int64_t> begins;
    for (const PartitionLog& log : evidence_.log) begins[log.name] = log.begin;
    std::map<PartitionName, std::vector<Message>> added;
    for (const ProducedMessage& message : evidence_.produced) {
        const auto begin = begins.find(message.place.in());
        if (message.aborted || message.place.offset < 0 || begin == begins.end()) continue;
        if (find(message.place) != nullptr) continue;
        const bool compacted = topic(message.place.topic).compacted;
        if (message.place.offset >= begin->second && !compacted) {
            problems_.push_back("the broker acknowledged " + describe(message.place) +
                                " and has lost it");
            continue;
        }
        added[message.place.in()].push_back(
            {.place = message.place, .produced = &message, .in_log = !compacted});
    }
    for (auto& [name, messages] : added) {
        std::vector<Message>& all = partitions_[name].messages;
        all.insert(all.end(), messages.begin(), messages.end());
        std::ranges::sort(all, {}, &Message::place);
    }
}

void Joined::join_rows() {
    for (const Effect& effect : evidence_.effects) {
        Message* message = find(effect.place);
        if (message == nullptr) continue;
        ++message->effects;
        message->effect = &effect;
    }
    for (const Claim& claim : evidence_.claims) {
        Message* message = find(claim.place);
        if (message == nullptr) continue;
        ++message->claims;
        message->claim = &claim;
    }
    for (const DeadLetter& letter : evidence_.dead_letters) {
        Message* message = find(letter.place);
        if (message == nullptr) continue;
        ++message->dead_letters;
        message->dead_letter = &letter;
    }
    for (const SkippedRange& range : evidence_.skipped) {
        const auto view = partitions_.find(range.name);
        if (view == partitions_.end()) continue;
        for (Message& message : view->second.messages) {
            const std::int64_t offset = message.place.offset;
            if (offset >= range.begin && offset < range.end) message.in_range = true;
        }
    }
}

void Joined::join_keys() {
    std::unordered_map<std::string, int> numbers;
    numbers.reserve(evidence_.produced.size());
    for (auto& [name, view] : partitions_) {
        for (Message& message : view.messages) {
            message.key = key_of(*message.produced, numbers);
            // A key for each message: it is found again by its place alone.
            if (message.produced->nature == Nature::without_key &&
                topic(message.place.topic).without_key == Policy::derive) {
                message.key = static_cast<int>(keys_.size());
                keys_.push_back({.sample = message.produced});
            }
            if (message.key < 0) continue;
            Key& key = keys_[static_cast<std::size_t>(message.key)];
            if (times_applied(message) > 0) {
                key.applied += times_applied(message);
                key.applied_by = message.produced;
            }
            if (message.passed && message.in_log && !message.in_range && can_be_applied(message)) {
                key.must_be_applied = true;
            }
        }
    }
    join_commands(numbers);
}

void Joined::join_commands(const std::unordered_map<std::string, int>& numbers) {
    for (const KeyCommand& command : evidence_.key_commands) {
        const auto found = numbers.find(
            key_name({.place = {.topic = command.topic}, .key_kind = "key", .key = command.key}));
        if (found == numbers.end()) continue;  // no message had that key
        Key& key = keys_[static_cast<std::size_t>(found->second)];
        if (command.what == KeyCommand::What::forgotten) {
            key.forgotten.push_back(&command);
        } else if (key.imported == nullptr || command.what == KeyCommand::What::imported) {
            key.imported = &command;
        }
    }
}

// The place of a lease is that of the message by which its key was claimed last.
void Joined::join_failures() {
    for (const Lease& lease : evidence_.leases) {
        if (lease.state != LeaseState::failed) continue;
        Message* message = find(lease.place);
        if (message == nullptr || message->key < 0) continue;
        message->failed = true;
        keys_[static_cast<std::size_t>(message->key)].failed = true;
    }
}

// Keys are one for topics that share an operation and a ledger; with `reach: partition` each
// partition has its own.
std::string Joined::key_name(const ProducedMessage& message) const {
    if (message.nature == Nature::without_key || message.key.empty()) return "";
    const TopicSettings& settings = topic(message.place.topic);
    std::string name;
    const auto append = [&name](const std::string& part) {
        name += std::to_string(part.size());
        name += ':';
        name += part;
    };
    append(settings.operation.empty() ? "topic " + settings.name : settings.operation);
    append(settings.ledger.empty() ? "topic " + settings.name : settings.ledger);
    if (settings.per_partition) append(settings.name + std::to_string(message.place.partition));
    append(message.key_kind);
    append(message.key);
    return name;
}

int Joined::key_of(const ProducedMessage& message, std::unordered_map<std::string, int>& numbers) {
    std::string name = key_name(message);
    if (name.empty()) return -1;
    const auto [found, added] = numbers.try_emplace(std::move(name), keys_.size());
    if (added) keys_.push_back({.sample = &message});
    return found->second;
}

void Joined::settle_outcomes() {
    for (auto& [name, view] : partitions_) {
        for (Message& message : view.messages) message.outcome = outcome(message);
    }
}

Outcome Joined::outcome(const Message& message) const {
    const TopicSettings& settings = topic(message.place.topic);
    const Nature nature = message.produced->nature;
    const Key* key = message.key < 0 ? nullptr : &keys_[static_cast<std::size_t>(message.key)];
    const bool key_ended =
        key != nullptr && (key->applied > 0 || key->failed || key->imported != nullptr);
    if (times_applied(message) > 0) return Outcome::applied;
    if (message.dead_letters > 0) {
        return nature == Nature::good && differs(message) ? Outcome::conflict
                                                          : Outcome::dead_letter;
    }
    if (message.in_range) return Outcome::skipped_range;
    if (!message.passed) return Outcome::waiting;
    if (nature == Nature::tombstone && settings.tombstones == Policy::skip) return Outcome::skipped;
    if (nature == Nature::without_key && settings.without_key == Policy::skip) {
        return Outcome::skipped;
    }
    if (key_ended && (nature != Nature::undecodable || !settings.key_in_payload)) {
        return Outcome::duplicate;
    }
    return message.in_log ? Outcome::nowhere : Outcome::vanished;
}

}  // namespace onceward::checker
