#pragma once
// The part of a topic's contract that is about its keys: who mints them, their format, and what
// comes of a message that has none or a bad one. Pure; thread-safe.

#include <string>
#include <utility>
#include <vector>

#include "consumer/intake/key_options.h"
#include "dedup/policy/topic_policy.h"

namespace onceward {

// Lines, each a name and its words.
std::vector<std::pair<std::string, std::string>> key_contract(const KeyOptions& key,
                                                              const RejectPolicy& reject);

}  // namespace onceward
