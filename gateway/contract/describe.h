#pragma once
// The contract that a configuration makes with the clients of its routes: as text for people and as
// OpenAPI 3.1 for their tools. Pure; thread-safe.

#include <chrono>
#include <string>
#include <vector>

#include "gateway/requests/route_options.h"

namespace onceward {

// What the routes alone do not say. For a route to a topic the consumer of that topic recognises
// repeats, so the retention is not known here.
struct RouteContract {
    RouteOptions route;
    std::string ledger;                 // '' for a route to a topic
    std::chrono::seconds retention{0};  // of the ledger
    std::chrono::seconds lease{0};      // of the ledger, for a route to an upstream
    std::string body_type{};            // such as `application/json`; '': any
};

struct Contract {
    std::string title;
    std::string version;
    ServerOptions server;
    std::vector<RouteContract> routes;
};

std::string contract_text(const Contract& contract);
std::string open_api(const Contract& contract);

// Such as `24 h`, `90 min`, `45 s`.
std::string duration_words(std::chrono::seconds duration);

struct ContractSentence {
    std::string name;  // such as `claimed`
    std::string text;
};

// Each point once, and only those that the route has.
std::vector<ContractSentence> contract_sentences(const RouteContract& contract);
// What every route refuses, and within which limits.
std::vector<ContractSentence> common_lines(const ServerOptions& server);

// What the client may rely on, by the kind of target.
std::string promise_of(const RouteOptions& route);

}  // namespace onceward
