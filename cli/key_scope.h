#pragma once
// What the keys of a topic's messages, or of a route's requests, have in common, as the
// configuration says. Plain values; pure. What the configuration does not have is a UsageError.

#include <string>
#include <vector>

#include "cli/configuration/configuration.h"

namespace onceward {

struct KeyScope {
    std::string owner;  // `topic orders` or `route POST /orders`, for messages
    std::string operation;
    std::vector<std::string> kinds;  // where its keys come from, each once
    bool has_tenant = false;
    // The key stands in a request's header, where `"a"` and `a` are one key.
    bool may_be_quoted = false;
};

KeyScope scope_of(const TopicConfiguration& topic);
// Also a UsageError for a route that claims no keys.
KeyScope scope_of(const Configuration& configuration, const RouteConfiguration& route);

// The topic of that name.
const TopicConfiguration& topic_named(const Configuration& configuration, const std::string& name);
// The route of that method and path, such as `POST /orders/{id}`.
const RouteConfiguration& route_named(const Configuration& configuration, const std::string& name);

// What of its requests is kept, and where; null for a route to a topic.
const TopicConfiguration* kept_of(const Configuration& configuration,
                                  const RouteConfiguration& route);

}  // namespace onceward
