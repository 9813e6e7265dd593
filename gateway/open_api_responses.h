#pragma once
// What a route answers, as OpenAPI has it. Pure; thread-safe.

#include <nlohmann/json.hpp>
#include <vector>

#include "gateway/problem.h"
#include "gateway/route_options.h"

namespace onceward {

// Its own answers and its problems, by their status.
nlohmann::ordered_json responses_of(const RouteOptions& route);
// The response that these problems share.
nlohmann::ordered_json problem_response(int status, const std::vector<ProblemKind>& kinds);

}  // namespace onceward
