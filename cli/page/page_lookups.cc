// What the page looks up: a key, dead letters, ledgers, options, and acts by hand.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/dlq/dead_letters.h"
#include "cli/keys/key_story.h"
#include "cli/operator/ledger_json.h"
#include "cli/page/page_reads.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output.h"
#include "dedup/base/text.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::int64_t letters_a_page = 50;
constexpr std::size_t shown_bytes = 16 * 1024;  // of a payload
constexpr int holders_shown = 20;

KeyQuestion question_of(const PageRequest& request) {
    KeyQuestion question;
    question.key = request.value("key");
    question.topic = request.value("topic");
    question.route = request.value("route");
    question.operation = request.value("operation");
    question.tenant = request.value("tenant");
    question.cloudevents_source = request.value("source");
    question.is_digest = request.value("digest") == "1";
    usage_error_if(question.key.empty(), "which key? Give one: key=");
    return question;
}

// Where the effects of a topic's messages, or of a route's requests, are: a sentence's object.
std::string sink_text(const TopicConfiguration& topic) {
    struct Visitor {
        std::string operator()(const TableSinkOptions& sink) const { return "table " + sink.table; }
        std::string operator()(const OutboxOptions& sink) const { return "topic " + sink.topic; }
        std::string operator()(const FunctionSinkOptions& sink) const {
            return "function " + sink.function;
        }
        std::string operator()(const WebhookOptions&) const { return "webhook"; }
    };
    return std::visit(Visitor{}, topic.sink) +
           (topic.also_publish ? " and, by the outbox, topic " + topic.also_publish->topic : "");
}

nlohmann::json letter_json(const Letter& letter, const DeadLetterRecord& record) {
    DeadLetterRecord shown = record;
    const bool cut = shown.payload && shown.payload->size() > shown_bytes;
    if (cut) shown.payload->resize(shown_bytes);
    nlohmann::json json = to_json(letter, shown);
    json["payload_cut"] = cut;
    // If it is not text, its bytes are shown too.
    const bool text = !shown.payload || shown.payload->find('\0') == std::string::npos;
    if (!text) json["payload_hex"] = hex(std::string_view(*shown.payload).substr(0, 1024));
    return json;
}

nlohmann::json reload_json(const std::optional<ReloadState>& reload) {
    if (!reload) return nullptr;
    nlohmann::json json{{"applied", reload->applied},
                        {"unchanged", reload->unchanged},
                        {"refused", reload->refused},
                        {"under_way", reload->under_way},
                        {"refusal", reload->refusal},
                        {"last_success", nullptr}};
    if (reload->last_success) {
        const auto since = reload->last_success->time_since_epoch();
        json["last_success"] =
            std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
    }
    return json;
}

std::string_view source_name(OptionOrigin::Source source) {
    switch (source) {
        case OptionOrigin::Source::file: return "file";
        case OptionOrigin::Source::environment: return "environment";
        case OptionOrigin::Source::secret_file: return "secret_file";
        case OptionOrigin::Source::standard: return "default";
    }
    return "";
}

}  // namespace

nlohmann::json PageReads::key(const PageRequest& request) {
    const KeyQuestion question = question_of(request);
    nlohmann::json json{{"servers", nlohmann::json::array()}, {"sinks", nlohmann::json::object()}};
    json["without_tenant"] = nlohmann::json::array();
    bool asked = false;
    each_server(json, [&](Connection& connection, const Configuration& part) {
        const KeySearch search = search_of(question, &configuration_, part.database);
        for (const std::string& owner : search.without_tenant) {
            json["without_tenant"].push_back(owner);
        }
        if (search.candidates.empty()) return;
        asked = true;
        json["servers"].push_back(
            key_story(connection, question, search, {part.database, configuration_.group, false}));
        json["servers"].back()["digests"] = nlohmann::json::array();
        for (const KeyCandidate& candidate : search.candidates) {
            json["servers"].back()["digests"].push_back(
                {{"kind", candidate.kind}, {"digest", uuid_text(candidate.digest)}});
        }
    });
    usage_error_if(!asked && json["problems"].empty(),
                   json["without_tenant"].empty()
                       ? "The configuration has no topic or route with such keys."
                       : "Keys here belong to tenants: name one with tenant=.");
    for (const TopicConfiguration& topic : configuration_.topics) {
        json["sinks"][topic.name] = sink_text(topic);
    }
    // A route to an upstream has its call under a lease.
    for (const auto& [place, requests] : configuration_.route_sinks) {
        json["sinks"][requests.name] = sink_text(requests);
    }
    return json;
}

nlohmann::json PageReads::letters(const PageRequest& request) {
    nlohmann::json json{{"groups", nlohmann::json::array()}};
    const bool open = request.value("state") != "all";
    each_server(json, [&](Connection& connection, const Configuration& part) {
        for (nlohmann::json& row :
             rows_json(connection.query(sql::page_letter_groups,
                                        {configuration_.group, request.given("topic"), open}),
                       {"topic", "class", "sqlstate", "said", "count", "first", "last", "newest",
                        "example"})) {
            row["database"] = part.database;
            json["groups"].push_back(std::move(row));
        }
    });
    return json;
}

nlohmann::json PageReads::letter_list(const PageRequest& request) {
    nlohmann::json json{{"letters", nlohmann::json::array()}, {"more", false}};
    const bool open = request.value("state") != "all";
    const auto before = number_of<std::int64_t>(request.value("before"));
    const auto number = number_of<std::int64_t>(request.value("number"));
    const auto sqlstate = request.values.contains("sqlstate")
                              ? std::optional(request.value("sqlstate"))
                              : std::nullopt;
    each_server(json, [&](Connection& connection, const Configuration& part) {
        if (request.given("database").value_or(part.database) != part.database) return;
        const QueryResult found = connection.query(
            sql::page_letters,
            Parameters{configuration_.group, request.given("topic"), request.given("class"),
                       sqlstate, request.given("said"), open, before, letters_a_page + 1,
                       number});
        std::vector<std::int64_t> numbers;
        for (int row = 0; row < found.rows(); ++row) numbers.push_back(found.integer(row, 0));
        if (static_cast<std::int64_t>(numbers.size()) > letters_a_page) {
            numbers.pop_back();
            json["more"] = true;
        }
        if (numbers.empty()) return;
        const std::vector<Letter> letters = select_letters(
            connection,
            {.group = configuration_.group, .numbers = numbers, .limit = letters_a_page});
        const std::vector<DeadLetterRecord> records = read_records(connection, numbers);
        // The newest first, as `records` are.
        for (const DeadLetterRecord& record : records) {
            const auto letter = std::ranges::find(letters, record.number, &Letter::number);
            if (letter == letters.end()) continue;
            json["letters"].push_back(letter_json(*letter, record));
            json["letters"].back()["database"] = part.database;
            const auto decoded = payloads_.of(letter->topic, record.payload.value_or(""));
            if (decoded) json["letters"].back()["decoded"] = *decoded;
        }
    });
    return json;
}

nlohmann::json PageReads::ledgers(const PageRequest&) {
    nlohmann::json json{{"ledgers", nlohmann::json::array()}};
    each_server(json, [&](Connection& connection, const Configuration& part) {
        for (const LedgerView& ledger :
             view_ledgers(connection, std::nullopt, configuration_.group)) {
            nlohmann::json row = to_json(ledger);
            row["database"] = part.database;
            row["retention"] = ledger.retention_text;
            row["results_bytes"] = ledger.results_bytes;
            if (ledger.held_back.count() > 0) {
                for (const RetentionHolder& holder :
                     retention_holders(connection, ledger.ledger, holders_shown)) {
                    row["held_back_by"].push_back(to_json(holder));
                }
            }
            json["ledgers"].push_back(std::move(row));
        }
    });
    return json;
}

nlohmann::json PageReads::configuration(const PageRequest&) {
    nlohmann::json json{{"file", configuration_.file},
                        {"reload", reload_json(status_().reload)},
                        {"options", nlohmann::json::array()}};
    for (const OptionOrigin& origin : configuration_.origins) {
        json["options"].push_back({{"path", origin.path},
                                   {"value", origin.value},
                                   {"secret", origin.secret},
                                   {"source", source_name(origin.source)},
                                   {"name", origin.name},
                                   {"line", origin.mark.line}});
    }
    return json;
}

nlohmann::json PageReads::acts(const PageRequest&) {
    nlohmann::json json{{"acts", nlohmann::json::array()}, {"from", "tables"}};
    each_server(json, [&](Connection& connection, const Configuration& part) {
        const bool audited = connection.query(sql::page_audit_readable, {}).boolean(0, 0);
        if (audited) json["from"] = "audit_log";
        const QueryResult rows = audited ? connection.query(sql::page_audit, {})
                                         : connection.query(sql::page_acts, {configuration_.group});
        std::vector<std::string_view> names{"at", "who", "act", "target", "reason"};
        if (audited) names.emplace_back("outcome");
        for (nlohmann::json& row : rows_json(rows, names)) {
            row["database"] = part.database;
            json["acts"].push_back(std::move(row));
        }
    });
    return json;
}

}  // namespace onceward
