#pragma once
// Which place of a sample's messages can be their idempotency key, and what speaks for it. Pure.

#include <span>
#include <string>
#include <vector>

#include "cli/proposal/field_evidence.h"
#include "dedup/message/message.h"

namespace onceward {

// How well a field's name fits a key, such as `event_id`: 0 for the names that most often mean a
// message's own id, then 1 and so on; nullopt for another name.
std::optional<int> key_rank(const std::string& field);

struct KeyField {
    std::string name;
    std::string source;  // as the configuration writes it: `{field: /id}`
    KeyCounts counts;
};

struct KeyChoice {
    std::string preset{};  // or `source`
    std::string source{};
    std::string evidence;  // why, a sentence
    std::vector<std::string> notes{};  // what was seen and not taken, sentences
};

// `records`: those with a payload. `fields`: those that key_rank() names, in the row's order.
KeyChoice choose_key(std::span<const Record* const> records, std::vector<KeyField> fields);
// The same for change events. `changes`: their keys by the preset `debezium-postgres`.
KeyChoice choose_change_key(std::size_t records, const KeyCounts& changes);

}  // namespace onceward
