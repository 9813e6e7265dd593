#pragma once
// The answers of a route, in OpenAPI's form. Pure; thread-safe.

#include <nlohmann/json.hpp>

#include "gateway/contract/describe.h"

namespace onceward {

// Its own answers and its problems, by their status.
nlohmann::ordered_json responses_of(const RouteOptions& route);
// The problems of a status query, by their status. `route` describes the query: its key is
// required, and is in the header.
nlohmann::ordered_json status_problems_of(const RouteOptions& route);

}  // namespace onceward
