#include "gateway/requests/keyed_request.h"

#include "dedup/base/text.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {

HttpHeaders record_headers(HttpHeaders headers,
                           std::vector<std::pair<std::string, std::string>> parameters) {
    for (auto& [name, value] : headers) name = lower_case(std::move(name));
    // DANGER: columns and the outbox believe these, so that a client would choose its tenant. Its
    // key is its own to name.
    std::erase_if(headers, [](const auto& header) {
        return is_own_header(header.first) && !same_variable(header.first, "idempotency-key");
    });
    // No header that a client can send contains braces.
    for (auto& [name, value] : parameters) {
        headers.emplace_back("{" + name + "}", std::move(value));
    }
    return headers;
}

std::string request_kind(const RouteOptions& route) {
    return route.key_field.empty() ? "header:" + route.key.header : "field:" + route.key_field;
}

Digest request_digest(const RouteOptions& route, std::string_view tenant, std::string_view key) {
    const std::string operation = operation_of(route.pattern);
    const std::string text = canonical_key(std::string(key), route.key);
    return digest_of({operation, tenant, request_kind(route), text});
}

Digest request_fingerprint(const HttpRequest& request) {
    return digest_of({"onceward http fingerprint", request.method, request.target, request.body});
}

Digest request_fingerprint(const HttpRequest& request, const Digest& fields) {
    return digest_of(
        {"onceward http fields fingerprint", request.method, request.target, bytes_of(fields)});
}

}  // namespace onceward
