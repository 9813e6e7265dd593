#pragma once
// The pages that the types of problems lead to: the sections of docs/problems.md. Pure;
// thread-safe.

#include <optional>

#include "gateway/http/http.h"

namespace onceward {

// Returns nullopt where the request asks for no page of a problem.
std::optional<HttpResponse> problem_page(const HttpRequest& request);

}  // namespace onceward
