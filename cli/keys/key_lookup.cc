#include "cli/keys/key_lookup.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/keys/published_keys.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output.h"
#include "dedup/once.h"
#include "dedup/operator/interventions.h"
#include "gateway/requests/keyed_request.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

// For a key that no configuration describes; its kind needs none then.
KeyScope scope_without_configuration(const KeyQuestion& question) {
    if (!question.route.empty()) {
        return {.owner = "route " + question.route,
                .operation = question.route,
                .kinds = {"header:Idempotency-Key"},
                .quotable = {"header:Idempotency-Key"}};
    }
    usage_error_if(question.operation.empty() && question.group.empty(),
                   "which consumer group? Name it with --group, or give a configuration with -c");
    return {.owner = "topic " + question.topic,
            .operation = question.group + "/" + question.topic,
            .kinds = {"header:Idempotency-Key", "record_key", "cloudevents", "payload_sha256",
                      "coordinates"},
            .quotable = {"header:Idempotency-Key"}};
}

// With the keys that are derived if a message has none.
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
        // No configuration knows what a service calls. Packages of the inbox use the kind `id`.
        return {.owner = "operation " + question.operation,
                .operation = question.operation,
                .kinds = {std::string(kind_of_calls), "id"}};
    }
    return configuration == nullptr ? scope_without_configuration(question)
                                    : configured_scope(question, *configuration);
}

// What the question names takes precedence over what is configured.
KeyScope asked_scope(const KeyQuestion& question, const Configuration* configuration) {
    KeyScope scope = scope_of_question(question, configuration);
    if (!question.operation.empty()) scope.operation = question.operation;
    if (!question.kinds.empty()) scope.kinds = question.kinds;
    usage_error_if(scope.has_tenant && question.tenant.empty(),
                   "keys of " + scope.owner + " belong to tenants; name one: --tenant");
    usage_error_if(configuration != nullptr && !question.route.empty() && !scope.has_tenant &&
                       !question.tenant.empty(),
                   "keys of " + scope.owner + " belong to no tenant");
    return scope;
}

// A key of this kind, as it is stored.
std::string text_of(const KeyQuestion& question, const KeyScope& scope, const std::string& kind) {
    if (kind == "cloudevents") return cloudevents_key(question.cloudevents_source, question.key);
    return key_as_read(scope, kind, question.key).value_or(question.key);
}

void add_once(std::vector<KeyCandidate>& found, const KeyCandidate& candidate) {
    const auto same = std::ranges::find(found, candidate.digest, &KeyCandidate::digest);
    if (same == found.end()) found.push_back(candidate);
}

void add_candidates(const KeyQuestion& question, const KeyScope& scope,
                    std::vector<KeyCandidate>& found) {
    const auto add = [&](const std::string& kind, std::string_view tenant) {
        const std::string text = text_of(question, scope, kind);
        add_once(found, {kind, digest_of({scope.operation, tenant, kind, text})});
    };
    for (const std::string& kind : scope.kinds) {
        if (kind == "cloudevents" && question.cloudevents_source.empty()) continue;
        add(kind, question.tenant);
        // A key that was derived because a message had none belongs to no tenant.
        if (kind == "coordinates") add(kind, "");
    }
}

// What kind of key it was, and whose record's.
void name_key(const std::vector<KeyCandidate>& candidates, nlohmann::json& found) {
    const std::string uuid = json_text(found["digest"]);
    const auto is_it = [&](const auto& candidate) { return uuid_text(candidate.digest) == uuid; };
    const auto candidate = std::ranges::find_if(candidates, is_it);
    found["kind"] = candidate == candidates.end() ? "" : candidate->kind;
    if (candidate == candidates.end() || candidate->published_by.empty()) return;
    found["published_by"] = candidate->published_by;
    found["onceward_id"] = candidate->onceward_id;
}

std::string published_text(const nlohmann::json& found) {
    if (!found.contains("published_by")) return "";
    return filled(", of the record {onceward_id} that {published_by} published", found);
}

// A request has no place in a log, so its partition and offset mean nothing.
void name_route(nlohmann::json& at) {
    if (!at["topic"].is_string() || !is_route_name(json_text(at["topic"]))) return;
    at["route"] = at["topic"];
    for (const char* name : {"topic", "partition", "offset", "last_offset"}) at.erase(name);
}

}  // namespace

bool of_operation_alone(const KeyQuestion& question) {
    return question.topic.empty() && question.route.empty() && !question.operation.empty();
}

std::vector<std::string> guessed_kinds(const KeyQuestion& question,
                                       const std::vector<KeyCandidate>& candidates,
                                       bool configured) {
    std::vector<std::string> kinds;
    if (configured || question.topic.empty() || !question.kinds.empty() || question.is_digest)
        return kinds;
    for (const KeyCandidate& candidate : candidates) {
        if (std::ranges::find(kinds, candidate.kind) == kinds.end())
            kinds.push_back(candidate.kind);
    }
    return kinds;
}

void warn_of_guess(const std::vector<std::string>& kinds) {
    if (kinds.empty()) return;
    std::string names;
    for (const std::string& kind : kinds) names += (names.empty() ? "" : ", ") + kind;
    warn("the key was looked for as " + names +
         "; one from another header or from a field is found with --kind, such as --kind "
         "field:/id, or with the configuration: -c");
}

bool of_whole_configuration(const KeyQuestion& question) {
    return question.topic.empty() && question.route.empty() && question.operation.empty() &&
           !question.is_digest;
}

const std::string& source_of(const KeyQuestion& question) {
    usage_error_if(
        of_whole_configuration(question),
        "whose key is it? Name the message's topic with --topic, the request's route with "
        "--route, or the operation of a call of once() with --operation");
    return question.route.empty() ? question.topic : question.route;
}

std::vector<KeyCandidate> key_candidates(const KeyQuestion& question,
                                         const Configuration* configuration) {
    if (question.is_digest) {
        const auto digest = parse_uuid(question.key);
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
    const auto asked_in = [&](const KeyScope& scope) {
        KeyQuestion asked = question;
        if (!scope.has_tenant) asked.tenant.clear();
        return asked;
    };
    // Keys on another server are not searched here, but their published records may be here.
    const auto follow = [&](const TopicConfiguration& source,
                            const std::vector<KeyCandidate>& own) {
        const auto add_published = [&](const PublishedKey& key) {
            if (key.scope.has_tenant && question.tenant.empty()) return std::vector<Digest>{};
            KeyQuestion asked = asked_in(key.scope);
            asked.key = key.id;
            std::vector<KeyCandidate> found;
            add_candidates(asked, key.scope, found);
            for (KeyCandidate& candidate : found) {
                candidate.published_by =
                    (is_route_name(key.from.name) ? "route " : "topic ") + key.from.name;
                candidate.onceward_id = key.id;
                if (key.reader.database == database) add_once(search.candidates, candidate);
            }
            return digests_of(found);
        };
        for (const KeyCandidate& candidate : own) {
            follow_published(configuration, source, candidate.digest, add_published);
        }
    };
    const auto add = [&](const TopicConfiguration& source, KeyScope scope, bool here) {
        if (scope.has_tenant && question.tenant.empty()) {
            if (here) search.without_tenant.push_back(scope.owner);
            return false;
        }
        if (!question.kinds.empty()) scope.kinds = question.kinds;
        std::vector<KeyCandidate> own;
        add_candidates(asked_in(scope), scope, own);
        if (here) {
            for (const KeyCandidate& candidate : own) add_once(search.candidates, candidate);
        }
        follow(source, own);
        return here;
    };
    for (const TopicConfiguration& topic : configuration.topics) {
        if (add(topic, scope_of_messages(topic), topic.database == database)) {
            search.topics.push_back(topic.name);
        }
    }
    for (const RouteConfiguration& route : configuration.http.routes) {
        // The consumer of the topic claims the keys of a route to it.
        const TopicConfiguration* const kept = kept_of(configuration, route);
        if (kept == nullptr || route.options.key.use == KeyUse::forbidden) continue;
        if (add(*kept, scope_of(configuration, route), database == default_database)) {
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
                           nlohmann::json& begun) {
    nlohmann::json list;
    const auto begin = [&] {
        list = nlohmann::json::array();
        begun = nlohmann::json::object();
    };
    const auto found = [&](const QueryResult& generations, int row, const QueryResult& claims) {
        std::vector<std::string_view> names{"digest", "claimed_at", "group",
                                            "topic",  "partition",  "offset"};
        if (generations.text(row, 5) != "table") names.push_back("last_offset");
        names.push_back("fingerprint?");
        for (auto& claim : rows_json(claims, names)) {
            name_key(candidates, claim);
            claim["ledger"] = generations.text(row, 0);
            claim["generation"] = generations.integer(row, 1);
            name_route(claim);
            list.push_back(std::move(claim));
        }
        // The generations come in their order.
        begun.emplace(std::string(generations.text(row, 0)), generations.text(row, 2));
    };
    search_claims(connection, "", digests_of(candidates), begin, found);
    return list;
}

nlohmann::json find_leases(Connection& connection, const std::vector<KeyCandidate>& candidates) {
    nlohmann::json list =
        rows_json(connection.query(sql::explain_leases, {digests_of(candidates)}),
                  {"digest", "ledger", "state", "attempts", "claimed_at", "lease_until", "ended_at",
                   "group", "topic", "partition", "offset", "status?", "reason?", "fingerprint?"});
    for (nlohmann::json& lease : list) {
        name_key(candidates, lease);
        lease["downstream_key"] = downstream_key(*parse_uuid(json_text(lease["digest"])));
        name_route(lease);
    }
    return list;
}

std::string lease_text(const nlohmann::json& lease) {
    static const std::map<std::string, const char*> beginnings{
        {"done", "done at {ended_at}"},
        {"failed", "failed for good at {ended_at}"},
        {"in_flight", "in flight since {claimed_at}, its lease until {lease_until}"},
        {"unanswered",
         "unanswered: its lease ended at {lease_until}, and whether it took effect is not known;"},
        {"released", "released since {lease_until}, to be tried again"}};
    std::string text = filled(beginnings.at(lease["state"]), lease);
    if (lease.contains("status")) text += filled(" with status {status}", lease);
    return text + " from " + place_text(lease) +
           filled("; attempts {attempts}, key kind {kind}, ledger {ledger}", lease) +
           published_text(lease) + filled(", called with the key {downstream_key}", lease) +
           text_with(", fingerprint ", lease, "fingerprint") + text_with(": ", lease, "reason");
}

std::string text_with(const char* before, const nlohmann::json& of, const char* name) {
    return of.contains(name) ? before + of[name].get<std::string>() : "";
}

bool is_route_name(std::string_view source) { return source.find(" /") != std::string_view::npos; }

std::string place_text(const nlohmann::json& at) {
    if (at.contains("route")) return filled("a request to {route}", at);
    if (at["topic"].is_null() && at["group"] == "onceward import") return "an import";
    if (at["group"] == "once()") return "a call of once()";
    if (at["group"] == "inbox") return filled("a call of the inbox in transaction {offset}", at);
    return (at["topic"].is_null() ? "a topic that is no longer known" : json_text(at["topic"])) +
           filled(" partition {partition}", at) +
           // A log knows only the places of its batches.
           filled(at.contains("last_offset") ? " between the offsets {offset} and {last_offset}"
                                             : " offset {offset}",
                  at);
}

std::string places_text(const nlohmann::json& places) {
    std::string text;
    for (const auto& place : places) text += (text.empty() ? "" : " or ") + place_text(place);
    return text;
}

std::string claim_text(const nlohmann::json& claim) {
    return filled("applied at {claimed_at} from ", claim) + place_text(claim) +
           filled("; key kind {kind}, ledger {ledger} generation {generation}", claim) +
           published_text(claim) + text_with(", fingerprint ", claim, "fingerprint");
}

}  // namespace onceward
