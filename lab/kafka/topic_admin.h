#pragma once
// Creates and deletes topics, for the bench and for tests. Blocking; thread-safe; failures are
// KafkaErrors.

#include <string>

namespace onceward {

void create_topic(const std::string& bootstrap_servers, const std::string& topic, int partitions);
void delete_topic(const std::string& bootstrap_servers, const std::string& topic);

}  // namespace onceward
