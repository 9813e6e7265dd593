#pragma once
// What a request's key and content are stored as. Pure, but for random_digest(); thread-safe.

#include "dedup/message/digest.h"
#include "gateway/requests/route_options.h"

namespace onceward {

// Where the keys of the route come from, as it stands in their digests: `header:Idempotency-Key`,
// `field:/id`.
std::string request_kind(const RouteOptions& route);

// Of the key in its scope: operation (method and route pattern), tenant, and where the key came
// from.
Digest request_digest(const RouteOptions& route, std::string_view tenant, std::string_view key);

// Of what a repeat has to come with again: the target with its query, and the raw body. The key's
// operation has the pattern alone, so that the path is part of this.
Digest request_fingerprint(const HttpRequest& request);

// Of a request without a key: no other one has it.
Digest random_digest();

}  // namespace onceward
