#pragma once
// What the keys of a list are keys of: a topic's messages or a route's requests, as the
// configuration has them, from which it borrows; or calls of once(), which no configuration knows.
// What cannot be meant, or has no claims that a list could make, is a UsageError.

#include <functional>
#include <string>

#include "cli/keys/key_scope.h"
#include "dedup/ledger/ledger.h"

namespace onceward {

struct ImportTarget {
    KeyScope scope;
    std::string source;  // the topic's name, or the route's
    LedgerOptions ledger;
    // Why no message and no request could have this key; '' where one could.
    std::function<std::string(const std::string& key)> fault;
    // Makes the ledger, and that it is fed from there, known.
    std::function<RegisteredLedger(Connection&)> register_source;
    std::string effect;  // what comes to a message or a request with an imported key
};

ImportTarget target_of_topic(const Configuration& configuration, const std::string& topic);
ImportTarget target_of_route(const Configuration& configuration, const std::string& route);
// `operation` and `tenant` as OnceKey has them, the ledger as OnceOptions. Throws
// std::runtime_error where the ledger is not there yet: how long it keeps what, its service says.
ImportTarget target_of_calls(Connection& connection, const std::string& operation,
                             const std::string& tenant, const std::string& ledger);

}  // namespace onceward
