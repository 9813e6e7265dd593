#pragma once
// The contract of a route point by point, as sentences: what both forms of it are made of, the text
// for people and OpenAPI. Pure; thread-safe.

#include <string>
#include <vector>

#include "gateway/contract/describe.h"

namespace onceward {

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
bool takes_bulk(const RouteOptions& route);

}  // namespace onceward
