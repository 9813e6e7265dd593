// What the checks ask of the joined evidence.

#include <algorithm>

#include "tests/faults/checker/joined.h"

namespace onceward::checker {
namespace {

// A key's bytes as a reader can bear them.
std::string printable(const std::string& bytes) {
    constexpr std::size_t longest = 60;
    static constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
            text += c;
        } else {
            text += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
        }
    }
    return bytes.size() > longest ? text + "..." : text;
}

}  // namespace

const Message* Joined::find(const Place& place) const {
    const auto view = partitions_.find(place.in());
    if (view == partitions_.end()) return nullptr;
    const std::vector<Message>& messages = view->second.messages;
    const auto found = std::ranges::lower_bound(messages, place, {}, &Message::place);
    return found != messages.end() && found->place == place ? &*found : nullptr;
}

Message* Joined::find(const Place& place) {
    return const_cast<Message*>(static_cast<const Joined*>(this)->find(place));
}

int Joined::times_applied(const Message& message) const {
    return claims_alone(message.place.topic) ? message.claims : message.effects;
}

Transaction Joined::transaction(const Message& message) const {
    if (claims_alone(message.place.topic)) {
        return message.claim == nullptr ? 0 : message.claim->transaction;
    }
    return message.effect == nullptr ? 0 : message.effect->transaction;
}

bool Joined::can_be_applied(const Message& message) const {
    const TopicSettings& settings = topic(message.place.topic);
    switch (message.produced->nature) {
        case Nature::good: return true;
        case Nature::tombstone: return settings.tombstones == Policy::remove;
        case Nature::without_key: return settings.without_key == Policy::derive;
        case Nature::undecodable:
        case Nature::refused:
        case Nature::uncertain: return false;
    }
    return false;
}

bool Joined::is_lost(const Key& key) const {
    const bool unknown = generations_dropped_ && topic(key.sample->place.topic).upsert;
    return key.must_be_applied && key.applied == 0 && !key.failed && key.imported == nullptr &&
           !unknown;
}

bool Joined::differs(const Message& message) const {
    if (message.key < 0 || !topic(message.place.topic).fingerprints) return false;
    const ProducedMessage* applied = keys_[static_cast<std::size_t>(message.key)].applied_by;
    return applied != nullptr && applied->fingerprint != message.produced->fingerprint;
}

const FenceMove* Joined::move_over(const Place& place, Transaction transaction) const {
    const auto view = partitions_.find(place.in());
    if (view == partitions_.end() || transaction == 0) return nullptr;
    // Without rewinds the moves ascend, so that the one over a place is found at once.
    const std::vector<const FenceMove*>& moves = view->second.moves;
    const auto fits = [&](const FenceMove* move) {
        return move->transaction == transaction && move->old_next <= place.offset &&
               place.offset < move->new_next;
    };
    if (!evidence_.settings.rewound) {
        const auto found = std::ranges::upper_bound(moves, place.offset, {}, &FenceMove::new_next);
        if (found != moves.end() && fits(*found)) return *found;
    }
    const auto found = std::ranges::find_if(moves, fits);
    if (found != moves.end()) return *found;
    // What an operator has skipped may be applied by a replay.
    const auto replayed =
        std::ranges::find_if(evidence_.replay_moves, [&](const FenceMove& move) {
            return move.name == place.in() && fits(&move);
        });
    return replayed == evidence_.replay_moves.end() ? nullptr : &*replayed;
}

std::int64_t Joined::applied_at(const Message& message) const {
    const FenceMove* move = move_over(message.place, transaction(message));
    return move == nullptr ? 0 : move->at_us;
}

std::string Joined::describe(const PartitionName& name) const {
    return topic(name.topic).name + "/" + std::to_string(name.partition);
}

std::string Joined::describe(const Place& place) const {
    return describe(place.in()) + "@" + std::to_string(place.offset);
}

std::string Joined::describe(const Message& message) const {
    return describe(message.place) + " message " + std::to_string(message.produced->id) + " key '" +
           printable(message.produced->key) + "'";
}

std::string Joined::describe(const Key& key) const {
    return "'" + printable(key.sample->key) + "' (" + key.sample->key_kind + ", " +
           topic(key.sample->place.topic).name + ")";
}

}  // namespace onceward::checker
