#pragma once
// What the front door does, as a configuration says it. Plain values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dedup/base/secret.h"
#include "dedup/message/minted.h"
#include "gateway/checks/json_web_token.h"
#include "gateway/checks/key_header.h"
#include "gateway/checks/signature.h"
#include "gateway/checks/token_bucket.h"
#include "gateway/http/server.h"
#include "gateway/requests/route_table.h"

namespace onceward {

// Where a request names the tenant that its key belongs to. A request without the tenant that its
// route asks for is refused.
struct TenantSource {
    enum class Kind : std::uint8_t { none, header, claim } kind = Kind::none;
    std::string name;
};

// The event is produced to a topic, and acknowledged.
struct TopicTarget {
    std::string topic;
    // Headers of the request that go with the record, under their own names in lower case.
    std::vector<std::string> forwarded;
};

// The request is a message: claim, write and stored answer in one transaction.
struct SinkTarget {
    // Whether the body is an array of items, each with a key of its own.
    bool bulk = false;
    // Whether a function gives the answers, with statuses of its own.
    bool function = false;
};

// An existing service: the request is forwarded under a lease, and its final answer is
// stored.
struct UpstreamTarget {
    Secret url;  // without its path's last slash; the request's path and query are appended
    std::chrono::milliseconds timeout{10'000};
    // What happens after a call that was sent and not answered. release: the next request calls
    // again; only if the upstream honours the key.
    enum class OnUnknown : std::uint8_t { hold, release } on_unknown = OnUnknown::hold;
    // Whether the upstream makes one effect of two calls with the same downstream key.
    bool honours_key = false;
    // With these statuses the upstream says that nothing happened, so that the key is free. With
    // `honours_key` all temporary failures do so: 408, 425, 429 and 5xx.
    std::vector<int> free_on = {408, 425, 429, 503};
    std::size_t concurrency = 8;
    std::vector<std::string> allow_private;
    std::string ca_file;
    // Sent with each call, in place of the client's; values may be secrets.
    std::vector<std::pair<std::string, Secret>> headers;
    // The client's credentials that are forwarded, such as `Authorization`.
    std::vector<std::string> forwarded;
};

// One for each way to carry a request out.
using RouteTarget = std::variant<TopicTarget, SinkTarget, UpstreamTarget>;

struct RouteOptions {
    RoutePattern pattern;
    KeyHeaderOptions key;
    // Where the key is, if it is not in the header: an RFC 6901 pointer into the body, such as
    // `/id` of a provider's event.
    std::string key_field;
    // When the key was minted: a field is an RFC 6901 pointer into the body.
    MintedSource minted_at;
    TenantSource tenant;
    bool token = false;  // a bearer token is required
    std::optional<SignatureOptions> signature;
    // Whether the same key with another target or body is a conflict; else it is a duplicate.
    bool fingerprint = true;
    // Paths into the body, as for a column. Their fields, in canonical form, are compared in place
    // of the raw body. Empty: the raw body is compared.
    std::vector<std::string> fingerprint_fields;
    // The header that says, with `true`, that an answer is an earlier request's.
    std::string replay_header = "Idempotent-Replayed";
    // The header that says for how many seconds at least a key is known; '': there is none.
    std::string window_header;
    std::chrono::seconds window{0};
    // The path where GET returns what became of a key of this route, with the same tenant and token
    // and the key in its header; '': there is none. Only for a route to a sink or to an upstream.
    std::string status_path;
    // The most requests of this route that are under way at the same time; each holds a connection.
    // Further ones get a 503 at once. 0: a share of the free connections
    // (gateway/requests/route_traffic.h).
    std::size_t at_once = 0;
    // How long a request waits while the first one with its key still runs, before it gets a 409.
    std::chrono::milliseconds wait{0};
    std::optional<RateLimit> tenant_rate;
    std::optional<RateLimit> key_rate;
    RouteTarget target = TopicTarget{};
};

inline bool takes_bulk(const RouteOptions& route) {
    const auto* sink = std::get_if<SinkTarget>(&route.target);
    return sink != nullptr && sink->bulk;
}

struct GatewayOptions {
    ServerOptions server;
    std::optional<TokenOptions> tokens;
    std::vector<RouteOptions> routes;
};

}  // namespace onceward
