#pragma once
// A registry in memory: answers by path, and which addresses were asked.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "consumer/registry/registry_protocol.h"

namespace onceward::test {

struct GivenRegistry {
    std::map<std::string, RegistryReply> replies;  // by address
    std::vector<std::string> asked;

    RegistryGet get() {
        return [this](const std::string& address, const std::stop_token&) {
            asked.push_back(address);
            const auto found = replies.find(address);
            if (found != replies.end()) return found->second;
            return RegistryReply{.status = 404,
                                 .body = R"({"error_code":40403,"message":"Schema not found"})"};
        };
    }
};

inline RegistryReply schema_reply(const std::string& fields) {
    return {.status = 200, .body = "{" + fields + "}"};
}

inline RegistryReply unreachable() { return {.failure = "connection refused"}; }

}  // namespace onceward::test
