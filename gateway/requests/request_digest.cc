#include "gateway/requests/request_digest.h"

namespace onceward {

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

}  // namespace onceward
