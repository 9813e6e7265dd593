#pragma once
// From a key as an operator writes it to the digests under which it may be stored, and to the
// claims that are there. Plain values; functions that query the database are for one thread, and
// throw PostgresError. A question that makes no sense is a UsageError.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/configuration/configuration.h"
#include "cli/keys/key_scope.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct KeyQuestion {
    std::string key;
    std::string topic;
    std::string route;  // in the topic's place: method and path, such as `POST /orders/{id}`
    std::string group;  // '' if nobody named one
    std::string operation;
    std::string tenant;
    std::string cloudevents_source;
    std::vector<std::string> kinds;
    bool is_digest = false;  // the key is a digest, as the logs print it
};

struct KeyCandidate {
    std::string kind;
    Digest digest;
    // What made a record of the key's message, such as `route POST /orders`, and the record's
    // `onceward-id`; '' for the key itself.
    std::string published_by = {};
    std::string onceward_id = {};
};

// Whether the key is one of an operation alone, as calls of once() have them.
bool of_operation_alone(const KeyQuestion& question);

// The topic or the route that is asked about; '' for an operation alone and for a digest. Throws
// UsageError if none of these is named.
const std::string& source_of(const KeyQuestion& question);

// The candidates as the topic's or the route's configuration makes them, if there is one; otherwise
// of every kind that needs no configuration. With only an operation: as once() makes them, unless
// kinds are named.
std::vector<KeyCandidate> key_candidates(const KeyQuestion& question,
                                         const Configuration* configuration);

// As which kinds a topic's key is looked for if neither the question nor a configuration says where
// it comes from; else empty. If it is not found, "not applied" would be read as true of all kinds.
std::vector<std::string> guessed_kinds(const KeyQuestion& question,
                                       const std::vector<KeyCandidate>& candidates,
                                       bool configured);
// Says so, unless it is empty.
void warn_of_guess(const std::vector<std::string>& kinds);

// Whether only the key is given: it may belong to any topic or route.
bool of_whole_configuration(const KeyQuestion& question);

struct KeySearch {
    std::vector<KeyCandidate> candidates;
    std::vector<std::string> topics;          // those that were searched
    std::vector<std::string> routes;          // the same
    std::vector<std::string> without_tenant;  // not searched: their keys belong to tenants
};

// The same for all topics and routes that the configuration has on that server, and for the records
// that the outboxes of any of them make of the key's message, topic by topic. If no tenant is
// named, those with tenants are passed over. Calls of once() are not searched, since no
// configuration knows them.
KeySearch key_search(const KeyQuestion& question, const Configuration& configuration,
                     const std::string& database);

std::vector<Digest> digests_of(const std::vector<KeyCandidate>& candidates);

// A JSON array of the claims under these digests, over all ledgers and generations. `begun`: an
// object with the time when the oldest generation of each ledger began, by the ledger's name.
nlohmann::json find_claims(Connection& connection, const std::vector<KeyCandidate>& candidates,
                           nlohmann::json& begun);

// A JSON array of what ledgers with `store: lease` have under these digests.
nlohmann::json find_leases(Connection& connection, const std::vector<KeyCandidate>& candidates);

// One of them as a sentence.
std::string claim_text(const nlohmann::json& claim);
std::string lease_text(const nlohmann::json& lease);
// `before` and the text of that name, if there is one; else ''.
std::string text_with(const char* before, const nlohmann::json& of, const char* name);
// Whether what feeds a ledger is a route: a topic's name has no blanks, a route's is its method and
// path.
bool is_route_name(std::string_view source);
// Where a claim or a dead letter came from.
std::string place_text(const nlohmann::json& at);
// The same for a message that is at one of these places.
std::string places_text(const nlohmann::json& places);

}  // namespace onceward
