#pragma once
// A dead letter's payload as JSON, if its topic's format is Protobuf. Used by one thread: what was
// loaded of a topic's types is kept.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli/configuration/configuration.h"

namespace onceward {

class MessageType;

class PayloadJson {
  public:
    explicit PayloadJson(const Configuration& configuration);
    ~PayloadJson();
    // Drops the loaded types, because the configuration has changed.
    void forget();
    // nullopt if the topic has another format, its types cannot be loaded, or the payload does not
    // have such a type.
    std::optional<std::string> of(const std::string& topic, const std::string& payload);

  private:
    const Configuration& configuration_;
    // By the topic's name; null if they cannot be loaded.
    std::map<std::string, std::unique_ptr<MessageType>> types_;
};

}  // namespace onceward
