#include "dedup/policy/key_order.h"

#include "schemas/queries.h"

namespace onceward {

// A message without a record key follows no other.
void KeyOrder::look(Transaction& transaction, const BatchContext& context,
                    std::span<Message* const> messages) {
    const QueryResult any =
        transaction.prepared(sql::dead_letters_any, {context.consumer_group, context.topic});
    if (!any.boolean(0, 0)) return;
    std::vector<const Message*> asked;
    std::vector<std::optional<std::string_view>> keys;
    std::vector<std::int32_t> partitions;
    std::vector<std::int64_t> offsets;
    for (const Message* message : messages) {
        if (!message->record.key || message->skipped) continue;
        asked.push_back(message);
        keys.push_back(message->record.key);
        partitions.push_back(message->record.partition.raw());
        offsets.push_back(message->record.offset.raw());
    }
    if (asked.empty()) return;
    const QueryResult found = transaction.prepared(sql::dead_letters_before,
                                                   Parameters{context.consumer_group, context.topic}
                                                       .byte_strings(keys)
                                                       .small_integers(partitions)
                                                       .integers(offsets));
    for (int row = 0; row < found.rows(); ++row) {
        in_table_[asked.at(static_cast<std::size_t>(found.integer(row, 0) - 1))] = {
            Partition{static_cast<std::int32_t>(found.integer(row, 1))},
            Offset{found.integer(row, 2)}};
    }
}

std::optional<KeyOrder::Place> KeyOrder::first(const Message& message) const {
    if (!message.record.key) return std::nullopt;
    if (const auto found = in_table_.find(&message); found != in_table_.end()) {
        return found->second;
    }
    const auto found = in_slice_.find(*message.record.key);
    return found == in_slice_.end() ? std::nullopt : std::optional(found->second);
}

void KeyOrder::rejected(const Message& message) {
    if (!message.record.key) return;
    in_slice_.try_emplace(*message.record.key,
                          Place{message.record.partition, message.record.offset});
}

Rejection behind(const KeyOrder::Place& first) {
    return {Rejection::Kind::behind,
            "follows the dead letter at partition " + std::to_string(first.partition.raw()) +
                ", offset " + std::to_string(first.offset.raw()) + " under the same record key",
            "", 1};
}

bool stood_behind(Message& message, const KeyOrder& order) {
    if (!message.rejection || message.rejection->kind != Rejection::Kind::behind) return false;
    const auto first = order.first(message);
    message.rejection.reset();
    if (first) message.rejection = behind(*first);
    return !first;
}

}  // namespace onceward
