#pragma once
// What a sink finds among a record's headers of a request. Pure; thread-safe.

#include <string>
#include <utility>
#include <vector>

#include "gateway/http/http.h"

namespace onceward {

// The request's headers, in lower case and without those that are the front door's own to set
// (dedup/sink/http_header_rules.h), and the path's parameters as `{name}`.
HttpHeaders record_headers(HttpHeaders headers,
                           std::vector<std::pair<std::string, std::string>> parameters);

}  // namespace onceward
