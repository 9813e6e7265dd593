#pragma once
// Makes and removes topics, for the bench and for tries. Blocking; thread-safe; failures are
// KafkaErrors.

#include <string>

namespace onceward {

void create_topic(const std::string& bootstrap_servers, const std::string& topic, int partitions);
void delete_topic(const std::string& bootstrap_servers, const std::string& topic);

}  // namespace onceward
