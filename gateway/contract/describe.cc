#include "gateway/contract/describe.h"

namespace onceward {
namespace {

std::string section(const std::string& heading, const std::vector<ContractSentence>& lines) {
    std::string text = heading + "\n";
    for (const ContractSentence& line : lines) {
        const std::size_t gap = line.name.size() < 14 ? 14 - line.name.size() : 1;
        text += "  " + line.name + std::string(gap, ' ') + line.text + "\n";
    }
    return text;
}

std::string format_words(const KeyHeaderOptions& key) {
    if (key.format == KeyFormat::plain) return "plain text";
    const std::string text = key.format == KeyFormat::either ? "plain text, or " : "";
    return text + "a string in double quotes (RFC 8941)";
}

std::string length_words(const KeyHeaderOptions& key) {
    if (key.uuid) return ", a UUID";
    return ", " + std::to_string(key.length_min) + " to " + std::to_string(key.length_max) +
           " bytes";
}

std::string use_words(const RouteOptions& route) {
    return route.key.use == KeyUse::required ? "required"
                                             : "optional: without it a repeat is not recognised";
}

std::string key_words(const RouteOptions& route) {
    if (!route.key_field.empty()) {
        return "minted by the sender of the event: " + route.key_field + " of the body (" +
               use_words(route) + ")" + length_words(route.key);
    }
    if (route.key.use == KeyUse::forbidden) return "none; a " + route.key.header + " is refused";
    const std::string client =
        "minted by the client, once for each operation and kept over its "
        "retries: ";
    if (takes_bulk(route)) {
        return client + "`key` of each item (" + use_words(route) + ")" + length_words(route.key) +
               "; a header " + route.key.header + " is refused";
    }
    return client + route.key.header + " (" + use_words(route) + "), " + format_words(route.key) +
           length_words(route.key);
}

std::string scope_words(const RouteOptions& route) {
    const std::string operation = "operation `" + operation_of(route.pattern) + "`";
    if (route.tenant.kind == TenantSource::Kind::none) return operation;
    const bool header = route.tenant.kind == TenantSource::Kind::header;
    const std::string& name = route.tenant.name;
    return operation + ", tenant from the " +
           (header ? "header " + name : "token's claim `" + name + "`");
}

std::string signature_words(const SignatureOptions& signature) {
    const std::string& time = signed_time_header(signature);
    const std::string id(signed_id_header(signature));
    return "yes, in the header " + std::string(signature_header(signature)) +
           (time.empty() ? "" : ", its time in " + time) +
           (id.empty() ? "" : ", with the id in " + id) +
           "; verified over the raw body before anything else";
}

std::string conflict_words(const RouteOptions& route) {
    if (!route.fingerprint) return "none: any request under the same key is a repeat";
    std::string fields;
    for (const std::string& field : route.fingerprint_fields) {
        fields += (fields.empty() ? "" : ", ") + field;
    }
    return "422: the same key with another path, query or " +
           (fields.empty() ? "body"
                           : "another value in the body at " + fields +
                                 "; other fields and the way it is written may differ");
}

std::string wait_words(const RouteOptions& route) {
    if (route.wait.count() == 0) return "409 at once, with Retry-After";
    return "waits for the first one's answer, at most " + std::to_string(route.wait.count()) +
           " ms; then 409 with Retry-After";
}

std::string free_statuses(const UpstreamTarget& upstream) {
    std::string text = upstream.honours_key ? "5xx, 408, 425, 429" : "";
    for (const int status : upstream.free_on) {
        const bool named = status >= 500 || status == 408 || status == 425 || status == 429;
        if (upstream.honours_key && named) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(status);
    }
    return text;
}

std::string doubt_words(const UpstreamTarget& upstream) {
    if (upstream.on_unknown == UpstreamTarget::OnUnknown::release) {
        return "504: the next request calls again under the same downstream key";
    }
    if (upstream.honours_key) {
        return "504, then 409 until the lease's end; then the next request calls again under the "
               "same downstream key";
    }
    return "504, then 409 until the lease's end; then 409 `outcome-unknown` until an operator "
           "frees the key";
}

void add_topic(std::vector<ContractSentence>& lines, const TopicTarget& target) {
    lines.push_back(
        {"claimed", "not here: the event goes to the topic `" + target.topic +
                        "` with its key, and the consumer of the topic recognises a repeat"});
    lines.push_back({"answer",
                     "202 once the log has the event; 503 if that is not known: send it again "
                     "with the same key"});
    lines.push_back({"repeat", "202 again, and a second record with the same key"});
    lines.push_back({"conflict", "not here: the consumer of the topic may detect one"});
}

void add_upstream(std::vector<ContractSentence>& lines, const UpstreamTarget& upstream,
                  std::chrono::seconds lease) {
    lines.push_back({"claimed", "before the upstream is called, for " + duration_words(lease) +
                                    ", longer while the call runs; the final answer (2xx, 3xx, "
                                    "most 4xx) is stored with the key's end"});
    lines.push_back({"downstream", "Idempotency-Key, derived from the key, the same on each try"});
    const std::string free = free_statuses(upstream);
    lines.push_back({"refused", free + (free.empty() ? "" : " and ") +
                                    "502 `upstream-unreachable` free the key: send it again"});
    if (!upstream.honours_key) {
        lines.push_back({"failed",
                         "any other 5xx is passed on, and may come after an effect: then 409 until "
                         "the lease's end; then 409 `outcome-unknown` until an operator frees the "
                         "key"});
    }
    lines.push_back({"in doubt", doubt_words(upstream)});
}

// For a route to a sink or an upstream, where a key is claimed.
void add_claims(std::vector<ContractSentence>& lines, const RouteContract& contract) {
    const RouteOptions& route = contract.route;
    if (const auto* upstream = std::get_if<UpstreamTarget>(&route.target)) {
        add_upstream(lines, *upstream, contract.lease);
    } else {
        lines.push_back({"claimed",
                         "in the transaction that writes, together with the answer: all three or "
                         "none"});
    }
    lines.push_back({"repeat", "the first one's answer, with `" + route.replay_header +
                                   ": true`; its final failures too"});
    lines.push_back({"meanwhile", wait_words(route)});
    lines.push_back({"conflict", conflict_words(route)});
    lines.push_back({"remembered", duration_words(contract.retention) + ", ledger `" +
                                       contract.ledger +
                                       "`: retry within that, by hand too; later the key is new"});
}

std::string status_words(const RouteOptions& route) {
    const bool upstream = std::holds_alternative<UpstreamTarget>(route.target);
    return "GET " + route.status_path +
           " with the same key returns what became of it: in-flight, "
           "" +
           (upstream ? "with the seconds until its lease ends, completed, outcome-unknown, "
                     : "completed, ") +
           "410 if its answer is no longer kept, or 404";
}

std::string promise_with_key(const RouteOptions& route) {
    if (std::holds_alternative<TopicTarget>(route.target)) {
        return "each 202 means one record or more, under the same key; a consumer that "
               "deduplicates by that key applies it once";
    }
    if (const auto* upstream = std::get_if<UpstreamTarget>(&route.target)) {
        return upstream->honours_key
                   ? "the upstream is called at least once for each key, always under one "
                     "downstream key, and makes one effect of it; you may receive its answer "
                     "more than once"
                   : "the upstream is called at most once for each key, and again only if it "
                     "refused the request (" +
                         free_statuses(*upstream) +
                         ") or was not reached; you may receive its answer more than once";
    }
    return "the operation takes effect at most once for each key; you may receive its answer more "
           "than once";
}

}  // namespace

std::string duration_words(std::chrono::seconds duration) {
    const auto count = duration.count();
    if (count > 0 && count % 3600 == 0) return std::to_string(count / 3600) + " h";
    if (count > 0 && count % 60 == 0) return std::to_string(count / 60) + " min";
    return std::to_string(count) + " s";
}

std::string contract_text(const Contract& contract) {
    std::string text = contract.title + "\n\n";
    for (const RouteContract& route : contract.routes) {
        text += section(operation_of(route.route.pattern), contract_sentences(route)) + "\n";
    }
    return text + section("Every route", common_lines(contract.server));
}

std::string promise_of(const RouteOptions& route) {
    const bool optional = route.key.use == KeyUse::optional;
    return route.key.use == KeyUse::forbidden
               ? "none: there is no key, and each request is carried out"
               : promise_with_key(route) +
                     (optional ? "; without a key each request is carried out" : "");
}

std::vector<ContractSentence> contract_sentences(const RouteContract& contract) {
    const RouteOptions& route = contract.route;
    std::vector<ContractSentence> lines = {{"promise", promise_of(route)}};
    if (route.signature) lines.push_back({"signed", signature_words(*route.signature)});
    if (route.token) {
        lines.push_back({"token", "a bearer token, verified against the issuer's key set"});
    }
    lines.push_back({"key", key_words(route)});
    if (takes_bulk(route)) {
        lines.push_back({"body",
                         "an array of items, each with a key of its own; 207 with an answer for "
                         "each, all in one transaction"});
    }
    if (route.key.use != KeyUse::forbidden) {
        lines.push_back({"scope", scope_words(route)});
        if (const auto* topic = std::get_if<TopicTarget>(&route.target)) {
            add_topic(lines, *topic);
        } else {
            add_claims(lines, contract);
        }
    } else if (const auto* topic = std::get_if<TopicTarget>(&route.target)) {
        lines.push_back({"answer", "202 once the log has the event, in the topic `" + topic->topic +
                                       "`; 503 if that is not known"});
    }
    if (!route.status_path.empty()) lines.push_back({"status", status_words(route)});
    return lines;
}

std::vector<ContractSentence> common_lines(const ServerOptions& server) {
    return {{"refused",
             "400, 401, 404, 405, 408, 413, 429, 431: before anything was done, and never "
             "remembered"},
            {"503", "whether it took effect is not known: send it again with the same key"},
            {"errors", "application/problem+json (RFC 9457) with a `type` that never changes"},
            {"limits", "body " + std::to_string(server.limits.body_bytes) +
                           " bytes, header fields " + std::to_string(server.limits.header_bytes) +
                           " bytes, a request arrives within " +
                           std::to_string(server.limits.request_time.count()) + " ms"}};
}

}  // namespace onceward
