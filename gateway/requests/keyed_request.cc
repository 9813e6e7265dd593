#include "gateway/requests/keyed_request.h"

#include <nlohmann/json.hpp>

#include "dedup/base/expects.h"
#include "dedup/base/json_reader.h"
#include "dedup/base/text.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {
namespace {

// The whole number at the pointer as it is written; nullopt if it has a fraction or an exponent.
// `parsed` is its value. REQUIRES: the body is JSON. If an object has two members of one name, this
// parser takes the first and the other one the last: nullopt if these differ.
std::optional<std::string> digits_of(const std::string& body, const std::string& pointer,
                                     const nlohmann::json& parsed) {
    simdjson::ondemand::parser parser;
    const simdjson::padded_string padded(body);
    simdjson::ondemand::document document;
    simdjson::ondemand::value value;
    if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
        document.at_pointer(pointer).get(value) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    const std::string_view text = trim_json_space(value.raw_json_token());
    const std::size_t first = text.starts_with('-') ? 1 : 0;
    if (json_digits(text, first) != text.size()) return std::nullopt;
    const bool is_same = nlohmann::json::parse(text, nullptr, false) == parsed;
    return is_same ? std::optional(std::string(text)) : std::nullopt;
}

}  // namespace

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

bool same_content(const HttpRequest& one, const HttpRequest& other) {
    return one.method == other.method && one.target == other.target && one.body == other.body;
}

Digest request_fingerprint(const HttpRequest& request, const Digest& fields) {
    return digest_of(
        {"onceward http fields fingerprint", request.method, request.target, bytes_of(fields)});
}

BodyField field_of(const std::string& body, const std::string& pointer) {
    const nlohmann::json document = nlohmann::json::parse(body, nullptr, false);
    const nlohmann::json::json_pointer place(pointer);
    if (document.is_discarded()) return {.is_there = !body.empty()};
    if (!document.contains(place)) return {};
    const nlohmann::json& found = document.at(place);
    if (found.is_null()) return {};
    BodyField field{.is_there = true};
    if (found.is_string()) field.text = found.get<std::string>();
    if (found.is_number_integer()) field.text = found.dump();
    // A whole number beyond 64 bits is parsed as a double, which would lose digits of the key.
    if (found.is_number_float()) field.text = digits_of(body, pointer, found);
    return field;
}

std::optional<MintedAt> minted_at_of(const MintedSource& source, const std::string& key,
                                     const HttpHeaders& headers, const std::string& body) {
    using Kind = MintedSource::Kind;
    if (source.kind == Kind::none) return std::nullopt;
    if (source.kind == Kind::uuid7) return minted_from_uuid7(key);
    if (source.kind == Kind::field) {
        const std::optional<std::string> field = field_of(body, source.name).text;
        return field ? minted_from_text(*field) : std::nullopt;
    }
    const auto header = only_value(headers, source.kind == Kind::header ? source.name : "ce-time");
    return header ? minted_from_text(*header) : std::nullopt;
}

Problem problem_of(Verdict verdict) {
    expects(verdict == Verdict::late || verdict == Verdict::early, "the ledger refused the key");
    if (verdict == Verdict::late) return {.kind = ProblemKind::key_expired};
    return {.kind = ProblemKind::key_malformed, .detail = "The key was minted in the future."};
}

Problem problem_of(const MintedSource& unreadable) {
    return {.kind = ProblemKind::key_malformed,
            .detail =
                "The time at which the key was minted is missing or not readable; it is "
                "looked for in " +
                describe(unreadable) + "."};
}

}  // namespace onceward
