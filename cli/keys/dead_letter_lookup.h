#pragma once
// What the dead letters, and those that were discarded, hold under a key. Plain values; queries use
// one thread, and their failures are PostgresErrors.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dedup/postgres/connection.h"

namespace onceward {

struct DeadLetterQuestion {
    std::vector<Digest> digests;
    std::string key_text;
    std::vector<std::string> topics;  // whose messages may carry that text
    std::optional<std::string> only;  // this topic's alone
};

// A JSON array, the newest first.
nlohmann::json find_letters(Connection& connection, const DeadLetterQuestion& question);

// The same of discarded ones, by their digests, which is all that is left of their keys; null where
// this role may not read them.
nlohmann::json find_discarded(Connection& connection, const DeadLetterQuestion& question);

// One of either as a sentence.
std::string letter_text(const nlohmann::json& letter);

}  // namespace onceward
