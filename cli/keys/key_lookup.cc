#include "cli/keys/key_lookup.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/terminal/usage_error.h"
#include "dedup/base/text.h"
#include "dedup/once.h"
#include "dedup/operator/interventions.h"
#include "gateway/requests/request_digest.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

std::optional<Digest> digest_from_text(std::string text) {
    std::erase(text, '-');
    Digest digest;
    if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
    for (std::size_t index = 0; index < digest.bytes.size(); ++index) {
        const int high = hex_value(text[2 * index]);
        const int low = hex_value(text[2 * index + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        digest.bytes[index] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return digest;
}

// For a key that no configuration describes; its kind needs none then.
KeyScope scope_without_configuration(const KeyQuestion& question) {
    if (!question.route.empty()) {
        return {.owner = "route " + question.route,
                .operation = question.route,
                .kinds = {"header:Idempotency-Key"},
                .quotable = {"header:Idempotency-Key"}};
    }
    if (question.operation.empty() && question.group.empty()) {
        throw UsageError(
            "which consumer group? Name it with --group, or give a configuration with -c");
    }
    return {.owner = "topic " + question.topic,
            .operation = question.group + "/" + question.topic,
            .kinds = {"record_key", "cloudevents", "payload_sha256", "coordinates"}};
}

// With the keys that are made where a message has none.
KeyScope scope_of_messages(const TopicConfiguration& topic) {
    KeyScope scope = scope_of(topic);
    if (topic.key.on_missing == KeyPolicy::derive || topic.key.on_invalid == KeyPolicy::derive) {
        scope.kinds.emplace_back("coordinates");
    }
    return scope;
}

KeyScope configured_scope(const KeyQuestion& question, const Configuration& configuration) {
    return question.route.empty()
               ? scope_of_messages(topic_named(configuration, question.topic))
               : scope_of(configuration, route_named(configuration, question.route));
}

KeyScope scope_of_question(const KeyQuestion& question, const Configuration* configuration) {
    if (of_operation_alone(question)) {
        // No configuration knows what a service calls.
        return {.owner = "operation " + question.operation,
                .operation = question.operation,
                .kinds = {std::string(kind_of_calls)}};
    }
    return configuration == nullptr ? scope_without_configuration(question)
                                    : configured_scope(question, *configuration);
}

// What was asked for goes before what is configured.
KeyScope asked_scope(const KeyQuestion& question, const Configuration* configuration) {
    KeyScope scope = scope_of_question(question, configuration);
    if (!question.operation.empty()) scope.operation = question.operation;
    if (!question.kinds.empty()) scope.kinds = question.kinds;
    if (scope.has_tenant && question.tenant.empty()) {
        throw UsageError("keys of " + scope.owner + " belong to tenants; name one: --tenant");
    }
    if (configuration != nullptr && !question.route.empty() && !scope.has_tenant &&
        !question.tenant.empty()) {
        throw UsageError("keys of " + scope.owner + " belong to no tenant");
    }
    return scope;
}

// A key of this kind, as it is stored.
std::string text_of(const KeyQuestion& question, const KeyScope& scope, const std::string& kind) {
    if (kind == "cloudevents") return cloudevents_key(question.cloudevents_source, question.key);
    return key_as_read(scope, kind, question.key).value_or(question.key);
}

// Each once.
void add_candidates(const KeyQuestion& question, const KeyScope& scope,
                    std::vector<KeyCandidate>& found) {
    const auto add = [&](const std::string& kind, std::string_view tenant) {
        const std::string text = text_of(question, scope, kind);
        const Digest digest = digest_of({scope.operation, tenant, kind, text});
        if (std::ranges::find(found, digest, &KeyCandidate::digest) == found.end()) {
            found.push_back({kind, digest});
        }
    };
    for (const std::string& kind : scope.kinds) {
        if (kind == "cloudevents" && question.cloudevents_source.empty()) continue;
        add(kind, question.tenant);
        // A key that was derived, where there was none, belongs to no tenant.
        if (kind == "coordinates") add(kind, "");
    }
}

std::string kind_name(const std::vector<KeyCandidate>& candidates, std::string_view uuid) {
    for (const KeyCandidate& candidate : candidates) {
        if (uuid_text(candidate.digest) == uuid) return candidate.kind;
    }
    return "";
}

nlohmann::json optional_json(const std::optional<std::string_view>& text) {
    return text ? nlohmann::json(*text) : nlohmann::json(nullptr);
}

// Reads four columns from there on: group, topic, partition, offset. A request has no place in a
// log, and its numbers mean nothing.
void add_place(nlohmann::json& at, const QueryResult& rows, int row, int column) {
    at["group"] = optional_json(rows.optional_text(row, column));
    const std::optional<std::string_view> topic = rows.optional_text(row, column + 1);
    if (topic && is_route_name(*topic)) {
        at["route"] = *topic;
        return;
    }
    at["topic"] = optional_json(topic);
    at["partition"] = rows.integer(row, column + 2);
    at["offset"] = rows.integer(row, column + 3);
}

}  // namespace

bool of_operation_alone(const KeyQuestion& question) {
    return question.topic.empty() && question.route.empty() && !question.operation.empty();
}

bool of_whole_configuration(const KeyQuestion& question) {
    return question.topic.empty() && question.route.empty() && question.operation.empty() &&
           !question.is_digest;
}

const std::string& source_of(const KeyQuestion& question) {
    if (of_whole_configuration(question)) {
        throw UsageError(
            "whose key is it? Name the message's topic with --topic, the request's route with "
            "--route, or the operation of a call of once() with --operation");
    }
    return question.route.empty() ? question.topic : question.route;
}

std::vector<KeyCandidate> key_candidates(const KeyQuestion& question,
                                         const Configuration* configuration) {
    if (question.is_digest) {
        const auto digest = digest_from_text(question.key);
        if (!digest) throw UsageError("a digest is 32 hexadecimal digits, as in the logs");
        return {{"digest", *digest}};
    }
    const KeyScope scope = asked_scope(question, configuration);
    std::vector<KeyCandidate> found;
    add_candidates(question, scope, found);
    if (found.empty()) throw UsageError("a CloudEvent's key is its id and --source, its source");
    return found;
}

KeySearch key_search(const KeyQuestion& question, const Configuration& configuration,
                     const std::string& database) {
    KeySearch search;
    const auto add = [&](KeyScope scope) {
        if (scope.has_tenant && question.tenant.empty()) {
            search.without_tenant.push_back(scope.owner);
            return false;
        }
        if (!question.kinds.empty()) scope.kinds = question.kinds;
        KeyQuestion asked = question;
        if (!scope.has_tenant) asked.tenant.clear();
        add_candidates(asked, scope, search.candidates);
        return true;
    };
    for (const TopicConfiguration& topic : configuration.topics) {
        if (topic.database != database) continue;
        if (add(scope_of_messages(topic))) search.topics.push_back(topic.name);
    }
    if (database != default_database) return search;
    for (const RouteConfiguration& route : configuration.http.routes) {
        // The consumer of the topic claims the keys of a route to it.
        if (kept_of(configuration, route) == nullptr) continue;
        if (route.options.key.use == KeyUse::forbidden) continue;
        if (add(scope_of(configuration, route))) {
            search.routes.push_back(operation_of(route.options.pattern));
        }
    }
    return search;
}

std::vector<Digest> digests_of(const std::vector<KeyCandidate>& candidates) {
    std::vector<Digest> digests;
    for (const KeyCandidate& candidate : candidates) digests.push_back(candidate.digest);
    return digests;
}

nlohmann::json find_claims(Connection& connection, const std::vector<KeyCandidate>& candidates,
                           std::map<std::string, std::string>& begun) {
    nlohmann::json list = nlohmann::json::array();
    const QueryResult generations = connection.query(sql::explain_generations, {});
    const std::vector<Digest> digests = digests_of(candidates);
    for (int row = 0; row < generations.rows(); ++row) {
        try {
            const bool has_ranges = generations.text(row, 5) != "table";
            const QueryResult rows = connection.query(explain_statement(generations.text(row, 5)),
                                                      Parameters{}.digests(digests),
                                                      {{"table", generations.text(row, 4)}});
            for (int found = 0; found < rows.rows(); ++found) {
                list.push_back({{"kind", kind_name(candidates, rows.text(found, 0))},
                                {"digest", rows.text(found, 0)},
                                {"claimed_at", rows.text(found, 1)},
                                {"ledger", generations.text(row, 0)},
                                {"generation", generations.integer(row, 1)}});
                add_place(list.back(), rows, found, 2);
                if (has_ranges && list.back().contains("offset")) {
                    list.back()["last_offset"] = rows.integer(found, 6);
                }
                const int fingerprint = has_ranges ? 7 : 6;
                if (!rows.is_null(found, fingerprint)) {
                    list.back()["fingerprint"] = rows.text(found, fingerprint);
                }
            }
        } catch (const PostgresError& error) {
            if (error.sqlstate() != "42P01") throw;
            continue;  // retention dropped it meanwhile
        }
        // The generations come in their order.
        begun.emplace(generations.text(row, 0), generations.text(row, 2));
    }
    return list;
}

nlohmann::json find_leases(Connection& connection, const std::vector<KeyCandidate>& candidates) {
    nlohmann::json list = nlohmann::json::array();
    const QueryResult rows =
        connection.query(sql::explain_leases, Parameters{}.digests(digests_of(candidates)));
    for (int row = 0; row < rows.rows(); ++row) {
        list.push_back({{"kind", kind_name(candidates, rows.text(row, 0))},
                        {"digest", rows.text(row, 0)},
                        {"ledger", rows.text(row, 1)},
                        {"state", rows.text(row, 2)},
                        {"attempts", rows.integer(row, 3)},
                        {"claimed_at", rows.text(row, 4)},
                        {"lease_until", rows.text(row, 5)},
                        {"ended_at", optional_json(rows.optional_text(row, 6))}});
        add_place(list.back(), rows, row, 7);
        if (!rows.is_null(row, 11)) list.back()["status"] = rows.integer(row, 11);
        if (!rows.is_null(row, 12)) list.back()["reason"] = rows.text(row, 12);
        if (!rows.is_null(row, 13)) list.back()["fingerprint"] = rows.text(row, 13);
    }
    return list;
}

std::string lease_text(const nlohmann::json& lease) {
    const auto state = lease["state"].get<std::string>();
    std::string text;
    if (state == "done") {
        text = "done at " + lease["ended_at"].get<std::string>();
    } else if (state == "failed") {
        text = "failed for good at " + lease["ended_at"].get<std::string>();
    } else if (state == "in_flight") {
        text = "in flight since " + lease["claimed_at"].get<std::string>() + ", its lease until " +
               lease["lease_until"].get<std::string>();
    } else if (state == "unanswered") {
        text = "unanswered: its lease ended at " + lease["lease_until"].get<std::string>() +
               ", and whether it took effect is not known;";
    } else {
        text = "released since " + lease["lease_until"].get<std::string>() + ", to be tried again";
    }
    if (lease.contains("status")) text += " with status " + lease["status"].dump();
    return text + " from " + place_text(lease) + "; attempts " + lease["attempts"].dump() +
           ", key kind " + lease["kind"].get<std::string>() + ", ledger " +
           lease["ledger"].get<std::string>() + text_with(", fingerprint ", lease, "fingerprint") +
           text_with(": ", lease, "reason");
}

std::string text_with(const char* before, const nlohmann::json& of, const char* name) {
    return of.contains(name) ? before + of[name].get<std::string>() : "";
}

bool is_route_name(std::string_view source) { return source.find(" /") != std::string_view::npos; }

std::string place_text(const nlohmann::json& at) {
    if (at.contains("route")) return "a request to " + at["route"].get<std::string>();
    if (at["topic"].is_null() && at["group"] == "onceward import") return "an import";
    if (at["group"] == "once()") return "a call of once()";
    return (at["topic"].is_null() ? "a topic that is no longer known"
                                  : at["topic"].get<std::string>()) +
           " partition " + at["partition"].dump() +
           // A log knows its batches' places alone.
           (at.contains("last_offset")
                ? " between the offsets " + at["offset"].dump() + " and " + at["last_offset"].dump()
                : " offset " + at["offset"].dump());
}

std::string places_text(const nlohmann::json& places) {
    std::string text;
    for (const auto& place : places) text += (text.empty() ? "" : " or ") + place_text(place);
    return text;
}

std::string claim_text(const nlohmann::json& claim) {
    return "applied at " + claim["claimed_at"].get<std::string>() + " from " + place_text(claim) +
           "; key kind " + claim["kind"].get<std::string>() + ", ledger " +
           claim["ledger"].get<std::string>() + " generation " + claim["generation"].dump() +
           text_with(", fingerprint ", claim, "fingerprint");
}

}  // namespace onceward
