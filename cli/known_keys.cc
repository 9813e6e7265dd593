#include "cli/known_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/usage_error.h"
#include "dedup/explain_statement.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

std::optional<Digest> digest_from_text(std::string text) {
    std::erase(text, '-');
    Digest digest;
    if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
    const auto value = [](char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    };
    for (std::size_t index = 0; index < digest.bytes.size(); ++index) {
        const int high = value(text[2 * index]);
        const int low = value(text[2 * index + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        digest.bytes[index] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return digest;
}

// The kinds that a key of this topic may have been stored under.
std::vector<std::string> kinds_of(const KeyQuestion& question, const TopicConfiguration* topic) {
    std::vector<std::string> kinds = question.kinds;
    if (kinds.empty() && topic != nullptr) {
        for (const KeySource& source : topic->key.sources) kinds.push_back(kind_of(source));
        if (topic->key.on_missing == KeyPolicy::derive ||
            topic->key.on_invalid == KeyPolicy::derive) {
            kinds.emplace_back("coordinates");
        }
    }
    if (kinds.empty()) kinds = {"record_key", "cloudevents", "payload_sha256", "coordinates"};
    return kinds;
}

std::string operation_of(const KeyQuestion& question, const TopicConfiguration* topic,
                         const Configuration* configuration) {
    if (!question.operation.empty()) return question.operation;
    if (topic != nullptr) return topic->key.operation;
    if (!question.group.empty()) return question.group + "/" + question.topic;
    if (configuration != nullptr) return configuration->group + "/" + question.topic;
    throw UsageError("which consumer group? Name it with --group, or give a configuration with -c");
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

}  // namespace

const TopicConfiguration& topic_named(const Configuration& configuration, const std::string& name) {
    std::string known;
    for (const TopicConfiguration& topic : configuration.topics) {
        if (topic.name == name) return topic;
        known += (known.empty() ? "" : ", ") + topic.name;
    }
    throw UsageError("the configuration has no topic " + name + "; it has " + known);
}

std::vector<KeyCandidate> key_candidates(const KeyQuestion& question,
                                         const Configuration* configuration) {
    if (question.is_digest) {
        const auto digest = digest_from_text(question.key);
        if (!digest) throw UsageError("a digest is 32 hexadecimal digits, as in the logs");
        return {{"digest", *digest}};
    }
    const TopicConfiguration* topic =
        configuration == nullptr ? nullptr : &topic_named(*configuration, question.topic);
    const bool has_tenant = topic != nullptr && topic->key.tenant.has_value();
    if (has_tenant && question.tenant.empty()) {
        throw UsageError("keys of topic " + question.topic +
                         " belong to tenants; name one: --tenant");
    }
    const std::string operation = operation_of(question, topic, configuration);
    std::vector<KeyCandidate> found;
    const auto add = [&](const std::string& kind, std::string_view tenant) {
        const std::string text = kind == "cloudevents"
                                     ? cloudevents_key(question.cloudevents_source, question.key)
                                     : question.key;
        const Digest digest = digest_of({operation, tenant, kind, text});
        if (std::ranges::find(found, digest, &KeyCandidate::digest) == found.end()) {
            found.push_back({kind, digest});
        }
    };
    for (const std::string& kind : kinds_of(question, topic)) {
        if (kind == "cloudevents" && question.cloudevents_source.empty()) continue;
        add(kind, question.tenant);
        // A key that was derived, where there was none, belongs to no tenant.
        if (kind == "coordinates") add(kind, "");
    }
    if (found.empty()) throw UsageError("a CloudEvent's key is its id and --source, its source");
    return found;
}

std::vector<Digest> digests_of(const std::vector<KeyCandidate>& candidates) {
    std::vector<Digest> digests;
    for (const KeyCandidate& candidate : candidates) digests.push_back(candidate.digest);
    return digests;
}

nlohmann::json find_claims(Connection& connection, const std::vector<KeyCandidate>& candidates,
                           std::string& since) {
    nlohmann::json list = nlohmann::json::array();
    const Result generations = connection.query(sql::explain_generations, {});
    const std::vector<Digest> digests = digests_of(candidates);
    for (int row = 0; row < generations.rows(); ++row) {
        const std::string begun(generations.text(row, 2));
        try {
            const bool has_ranges = generations.text(row, 5) != "table";
            const Result rows = connection.query(explain_statement(generations.text(row, 5)),
                                                 Parameters{}.digests(digests),
                                                 {{"table", generations.text(row, 4)}});
            for (int found = 0; found < rows.rows(); ++found) {
                list.push_back({{"kind", kind_name(candidates, rows.text(found, 0))},
                                {"digest", rows.text(found, 0)},
                                {"claimed_at", rows.text(found, 1)},
                                {"group", optional_json(rows.optional_text(found, 2))},
                                {"topic", optional_json(rows.optional_text(found, 3))},
                                {"partition", rows.integer(found, 4)},
                                {"offset", rows.integer(found, 5)},
                                {"ledger", generations.text(row, 0)},
                                {"generation", generations.integer(row, 1)}});
                if (has_ranges) list.back()["last_offset"] = rows.integer(found, 6);
                const int fingerprint = has_ranges ? 7 : 6;
                if (!rows.is_null(found, fingerprint)) {
                    list.back()["fingerprint"] = rows.text(found, fingerprint);
                }
            }
        } catch (const PostgresError& error) {
            if (error.sqlstate() != "42P01") throw;
            continue;  // retention dropped it meanwhile
        }
        if (since.empty() || begun < since) since = begun;
    }
    return list;
}

nlohmann::json find_leases(Connection& connection, const std::vector<KeyCandidate>& candidates) {
    nlohmann::json list = nlohmann::json::array();
    const Result rows =
        connection.query(sql::explain_leases, Parameters{}.digests(digests_of(candidates)));
    for (int row = 0; row < rows.rows(); ++row) {
        list.push_back({{"kind", kind_name(candidates, rows.text(row, 0))},
                        {"digest", rows.text(row, 0)},
                        {"ledger", rows.text(row, 1)},
                        {"state", rows.text(row, 2)},
                        {"attempts", rows.integer(row, 3)},
                        {"claimed_at", rows.text(row, 4)},
                        {"lease_until", rows.text(row, 5)},
                        {"ended_at", optional_json(rows.optional_text(row, 6))},
                        {"group", optional_json(rows.optional_text(row, 7))},
                        {"topic", optional_json(rows.optional_text(row, 8))},
                        {"partition", rows.integer(row, 9)},
                        {"offset", rows.integer(row, 10)}});
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
    } else {
        text = "let go of since " + lease["lease_until"].get<std::string>() + ", to be tried again";
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

std::string place_text(const nlohmann::json& at) {
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
