#pragma once
// What the keys of a topic's messages, or of a route's requests, have in common, as the
// configuration says. Plain values; pure. Throws UsageError for what the configuration does not
// have.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/configuration/configuration.h"

namespace onceward {

struct KeyScope {
    std::string owner;  // `topic orders` or `route POST /orders`, for messages
    std::string operation;
    std::vector<std::string> kinds;  // where its keys come from, each once
    bool has_tenant = false;
    // The kinds for which `"a"` and `a` are one key, as in a header (RFC 8941).
    std::vector<std::string> quotable = {};
    bool uuid = false;  // keys are UUIDs, compared in lower case
    // The kinds whose keys are composed: JSON arrays of so many texts.
    std::map<std::string, std::size_t> composed = {};
};

KeyScope scope_of(const TopicConfiguration& topic);
// Throws UsageError also for a route that claims no keys.
KeyScope scope_of(const Configuration& configuration, const RouteConfiguration& route);

// The key of that kind as its reader gets it: without the quotes that it may be written in. A
// composed one is in canonical form, no matter with which white space and escapes it is written.
// nullopt if it is not written as a key of that kind.
std::optional<std::string> key_as_read(const KeyScope& scope, const std::string& kind,
                                       const std::string& written);

// The topic of that name.
const TopicConfiguration& topic_named(const Configuration& configuration, const std::string& name);
// The route of that method and path, such as `POST /orders/{id}`.
const RouteConfiguration& route_named(const Configuration& configuration, const std::string& name);

// What is kept of its requests, and where; null for a route to a topic.
const TopicConfiguration* kept_of(const Configuration& configuration,
                                  const RouteConfiguration& route);

}  // namespace onceward
