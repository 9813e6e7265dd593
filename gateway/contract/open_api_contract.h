#pragma once
// The extension `x-onceward` of OpenAPI: what its own fields cannot say of a key. Pure;
// thread-safe.

#include <nlohmann/json.hpp>

#include "gateway/contract/describe.h"

namespace onceward {

// The contract of an operation: the sentences of the contract's text under their names, and under
// `values` what tools compare.
nlohmann::ordered_json contract_object(const RouteContract& contract);
// The contract of all operations.
nlohmann::ordered_json common_object(const ServerOptions& server);

}  // namespace onceward
