#pragma once
// Creates and deletes topics, for the bench and for tests. Blocking; thread-safe; failures are
// KafkaErrors.

#include <map>
#include <string>

namespace onceward {

// `settings`: the topic's own, such as `retention.bytes`.
void create_topic(const std::string& bootstrap_servers, const std::string& topic, int partitions,
                  const std::map<std::string, std::string>& settings = {});
void delete_topic(const std::string& bootstrap_servers, const std::string& topic);

}  // namespace onceward
