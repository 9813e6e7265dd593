#pragma once
// Which statement finds keys' claims in a generation, by how sql::explain_generations says that
// they are kept. Pure; thread-safe. The rows are digest, time, group, topic, partition, offset,
// but for `table` the last offset of the claim's batch, and the fingerprint.

#include <string_view>

namespace onceward {

std::string_view explain_statement(std::string_view kept);

}  // namespace onceward
