#pragma once
// What a request's key and content are stored as. Pure; thread-safe.

#include "dedup/message/digest.h"
#include "gateway/requests/route_options.h"

namespace onceward {

// Where the keys of the route come from, in the form that their digests use:
// `header:Idempotency-Key`, `field:/id`.
std::string request_kind(const RouteOptions& route);

// The digest of the key in its scope: operation (method and route pattern), tenant, and where the
// key came from.
Digest request_digest(const RouteOptions& route, std::string_view tenant, std::string_view key);

// The digest of what a repeat must have in common with the first request: the target with its
// query, and the raw body. The key's operation has only the pattern, so the path is part of this.
Digest request_fingerprint(const HttpRequest& request);

}  // namespace onceward
