#pragma once
// What a route answers, as OpenAPI has it. Pure; thread-safe.

#include <nlohmann/json.hpp>

#include "gateway/contract/describe.h"

namespace onceward {

// Its own answers and its problems, by their status.
nlohmann::ordered_json responses_of(const RouteOptions& route);
// The problems of asking what became of a key, by their status. `route` as it is asked: its key is
// required, and in the header.
nlohmann::ordered_json status_problems_of(const RouteOptions& route);

}  // namespace onceward
