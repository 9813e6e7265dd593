#include "cli/keys/key_story.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/terminal/output.h"
#include "dedup/base/text.h"
#include "schemas/queries.h"
#include "sinks/outbox/outbox_rows.h"

namespace onceward {
namespace {

template <class Question>
bool any_of(const nlohmann::json& list, Question question) {
    return std::any_of(list.begin(), list.end(), question);
}

// Ids of published records are made of the key and of their topic, so both are tried for each topic
// that has rows. Records that were sent are no longer there.
nlohmann::json find_published(Connection& connection, const std::vector<Digest>& digests) {
    std::set<std::string> topics;
    const QueryResult waiting = connection.query(sql::outbox_topics, {std::nullopt});
    for (int row = 0; row < waiting.rows(); ++row) topics.emplace(waiting.text(row, 1));
    std::vector<std::optional<std::string_view>> names;
    std::vector<Digest> ids;
    for (const std::string& topic : topics) {
        for (const Digest& digest : digests) {
            for (const OutboxPlace place : {OutboxPlace::sink, OutboxPlace::also_publish}) {
                names.emplace_back(topic);
                ids.push_back(outbox_id(topic, place, digest));
            }
        }
    }
    if (ids.empty()) return nlohmann::json::array();
    return rows_json(connection.query(sql::explain_outbox, Parameters{names, ids}),
                     {"group", "topic", "id", "position", "created_at"});
}

// Headers and body only if they are asked for: they are somebody's data.
nlohmann::json find_results(Connection& connection, const std::vector<Digest>& digests,
                            bool whole) {
    nlohmann::json list = nlohmann::json::array();
    const QueryResult tables = connection.query(sql::explain_result_tables, {});
    for (int table = 0; table < tables.rows(); ++table) {
        try {
            const QueryResult rows =
                connection.prepared(sql::explain_results, Parameters{digests, whole},
                                    {{"table", std::string(tables.text(table, 2))}}, true);
            for (int row = 0; row < rows.rows(); ++row) {
                list.push_back({{"ledger", tables.text(table, 0)},
                                {"generation", tables.integer(table, 1)},
                                {"digest", uuid_text(rows.binary_digest(row, 0))},
                                {"result", rows.text(row, 1)},
                                {"status", rows.binary_integer(row, 2)},
                                {"bytes", rows.binary_integer(row, 3)},
                                {"stored_at", rows.text(row, 4)}});
                if (!whole) continue;
                list.back()["headers"] = nlohmann::json::parse(rows.text(row, 5));
                list.back()["body"] = rows.text(row, 6);
            }
        } catch (const PostgresError& error) {
            if (!table_is_gone(error)) throw;  // retention has just dropped it
        }
    }
    return list;
}

// The dead letters under the key, the newest first. A message without a digest is found by the
// key's text, in these topics. `only`: letters of this topic alone.
nlohmann::json find_letters(Connection& connection, const std::vector<Digest>& digests,
                            const std::string& key_text, const std::vector<std::string>& topics,
                            const std::optional<std::string>& only) {
    const std::vector<std::optional<std::string_view>> names(topics.begin(), topics.end());
    nlohmann::json list = rows_json(
        connection.query(sql::explain_dead_letters,
                         Parameters{digests}.bytes(key_text).texts(names).optional_text(only)),
        {"", "created_at", "group", "topic", "partition", "offset", "error_class", "sqlstate",
         "reason", "fingerprint?", "first_fingerprint?", "first_places?", "number", "attempts",
         "state"});
    for (nlohmann::json& letter : list) {
        const auto places = letter.find("first_places");
        if (places != letter.end()) *places = nlohmann::json::parse(json_text(*places));
    }
    return list;
}

// The same for discarded ones, by their digests, which is all that is left of their keys; null if
// this role may not read them.
nlohmann::json find_discarded(Connection& connection, const std::vector<Digest>& digests,
                              const std::optional<std::string>& only) try {
    nlohmann::json list =
        rows_json(connection.query(sql::explain_discarded_dead_letters, Parameters{digests, only}),
                  {"number", "created_at", "group", "topic", "partition", "offset", "error_class",
                   "sqlstate", "reason", "discarded_by", "discarded_at"});
    for (nlohmann::json& letter : list) letter["state"] = "discarded";
    return list;
} catch (const PostgresError& error) {
    if (error.sqlstate() != "42501") throw;
    return nullptr;
}

// The ledgers that could know the key, each with the time when its claims begin; '' if it has none
// yet. If another group reads a topic of that name, its ledgers know nothing of this group's
// messages.
nlohmann::json own_ledgers(Connection& connection, const KeyQuestion& question,
                           const KeySearch& search, const std::string& group,
                           const nlohmann::json& begun) {
    std::vector<std::optional<std::string_view>> sources(search.topics.begin(),
                                                         search.topics.end());
    sources.insert(sources.end(), search.routes.begin(), search.routes.end());
    const QueryResult rows =
        connection.query(sql::explain_ledgers,
                         Parameters{sources, of_operation_alone(question), unless_empty(group)});
    nlohmann::json ledgers = rows_json(rows, {"ledger"});
    for (nlohmann::json& ledger : ledgers) {
        ledger["claims_since"] = begun.value(json_text(ledger["ledger"]), "");
    }
    return ledgers;
}

// Since when all of them have claims; if none knows the key, it was not applied since then.
std::string known_since(const nlohmann::json& ledgers) {
    std::string since;
    for (const auto& ledger : ledgers) {
        since = std::max(since, json_text(ledger["claims_since"]));
    }
    return since;
}

}  // namespace

KeySearch search_of(const KeyQuestion& question, const Configuration* configuration,
                    const std::string& database) {
    if (of_whole_configuration(question)) return key_search(question, *configuration, database);
    KeySearch search;
    search.candidates = key_candidates(question, configuration);
    if (!question.topic.empty()) search.topics.push_back(question.topic);
    if (!question.route.empty()) search.routes.push_back(question.route);
    return search;
}

bool is_own(const nlohmann::json& ledgers, const nlohmann::json& found) {
    // A record that was made of the message says nothing about the message's repeats.
    if (found.contains("published_by")) return false;
    const auto has_it = [&](const auto& ledger) { return ledger["ledger"] == found["ledger"]; };
    return ledgers.empty() || any_of(ledgers, has_it);
}

nlohmann::json key_story(Connection& connection, const KeyQuestion& question,
                         const KeySearch& search, const KeyStoryOptions& options) {
    const std::vector<Digest> digests = digests_of(search.candidates);
    const std::optional<std::string> only = unless_empty(question.topic);
    nlohmann::json begun = nlohmann::json::object();
    const nlohmann::json claims = find_claims(connection, search.candidates, begun);
    const nlohmann::json leases = find_leases(connection, search.candidates);
    const nlohmann::json ledgers = own_ledgers(connection, question, search, options.group, begun);
    const auto is_ours = [&](const nlohmann::json& found) { return is_own(ledgers, found); };
    const auto is_done = [&](const nlohmann::json& lease) {
        return lease["state"] == "done" && is_ours(lease);
    };
    return {{"database", options.database},
            {"applied", any_of(claims, is_ours) || any_of(leases, is_done)},
            {"ledgers", ledgers},
            {"claims", claims},
            {"results", find_results(connection, digests, options.whole_results)},
            {"leases", leases},
            {"outbox", find_published(connection, digests)},
            {"evictions", rows_json(connection.query(sql::explain_evictions, {digests}),
                                    {"digest", "evicted_at", "ledger", "evicted_by", "reason"})},
            {"dead_letters", find_letters(connection, digests, question.key, search.topics, only)},
            {"discarded_dead_letters", find_discarded(connection, digests, only)},
            {"without_tenant", search.without_tenant},
            {"claims_since", known_since(ledgers)}};
}

}  // namespace onceward
