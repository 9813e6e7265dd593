#include "gateway/requests/keyed_request.h"

#include <nlohmann/json.hpp>

#include "dedup/base/expects.h"
#include "dedup/base/text.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {

HttpHeaders record_headers(HttpHeaders headers,
                           std::vector<std::pair<std::string, std::string>> parameters) {
    for (auto& [name, value] : headers) name = lower_case(std::move(name));
    // DANGER: remove these. Columns and the outbox trust them, so a client could choose its tenant.
    // The client may choose only its key.
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

std::optional<std::string> field_of(const std::string& body, const std::string& pointer) {
    const nlohmann::json document = nlohmann::json::parse(body, nullptr, false);
    const nlohmann::json::json_pointer place(pointer);
    if (document.is_discarded() || !document.contains(place)) return std::nullopt;
    const nlohmann::json& found = document.at(place);
    if (found.is_string()) return found.get<std::string>();
    if (found.is_number_integer()) return found.dump();
    return std::nullopt;
}

std::optional<MintedAt> minted_at_of(const MintedSource& source, const std::string& key,
                                     const HttpHeaders& headers, const std::string& body) {
    using Kind = MintedSource::Kind;
    if (source.kind == Kind::none) return std::nullopt;
    if (source.kind == Kind::uuid7) return minted_from_uuid7(key);
    if (source.kind == Kind::field) {
        const std::optional<std::string> field = field_of(body, source.name);
        return field ? minted_from_text(*field) : std::nullopt;
    }
    const auto header = only_value(headers, source.kind == Kind::header ? source.name : "ce-time");
    return header ? minted_from_text(*header) : std::nullopt;
}

Problem problem_of(Verdict verdict) {
    expects(verdict == Verdict::late || verdict == Verdict::early, "the ledger refused the key");
    if (verdict == Verdict::late) return {.kind = ProblemKind::key_expired};
    return {.kind = ProblemKind::key_malformed,
            .detail = "The key was minted in the future."};
}

Problem problem_of(const MintedSource& unreadable) {
    return {.kind = ProblemKind::key_malformed,
            .detail = "The time at which the key was minted is missing or not readable; it is "
                      "looked for in " +
                      describe(unreadable) + "."};
}

}  // namespace onceward
