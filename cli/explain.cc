// `onceward explain`: what became of one idempotency key.

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/operator_options.h"
#include "dedup/explain_statement.h"
#include "dedup/migration.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

struct ExplainOptions {
    OperatorOptions common;
    std::string key;
    std::string topic;
    std::string group;
    std::string operation;
    std::string tenant;
    std::string cloudevents_source;
    std::vector<std::string> kinds;
    bool is_digest = false;
    bool json = false;
};

struct Candidate {
    std::string kind;
    Digest digest;
};

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

const TopicConfiguration* topic_of(const OperatorSetup& setup, const std::string& name) {
    if (!setup.configuration) return nullptr;
    for (const TopicConfiguration& topic : setup.configuration->topics) {
        if (topic.name == name) return &topic;
    }
    std::string known;
    for (const TopicConfiguration& topic : setup.configuration->topics) {
        known += (known.empty() ? "" : ", ") + topic.name;
    }
    throw UsageError("the configuration has no topic " + name + "; it has " + known);
}

// The kinds that a key of this topic may have been stored under.
std::vector<std::string> kinds_of(const ExplainOptions& options, const TopicConfiguration* topic) {
    std::vector<std::string> kinds = options.kinds;
    if (kinds.empty() && topic != nullptr) {
        for (const KeySource& source : topic->key.sources) kinds.push_back(kind_of(source));
        if (topic->key.on_missing == KeyPolicy::derive ||
            topic->key.on_invalid == KeyPolicy::derive) {
            kinds.push_back("coordinates");
        }
    }
    if (kinds.empty()) kinds = {"record_key", "cloudevents", "payload_sha256", "coordinates"};
    return kinds;
}

std::vector<Candidate> candidates(const ExplainOptions& options, const OperatorSetup& setup) {
    if (options.is_digest) {
        const auto digest = digest_from_text(options.key);
        if (!digest) throw UsageError("a digest is 32 hexadecimal digits, as in the logs");
        return {{"digest", *digest}};
    }
    const TopicConfiguration* topic = topic_of(setup, options.topic);
    const bool has_tenant = topic != nullptr && topic->key.tenant.has_value();
    if (has_tenant && options.tenant.empty()) {
        throw UsageError("keys of topic " + options.topic +
                         " belong to tenants; name one: --tenant");
    }
    std::string operation = options.operation;
    if (operation.empty() && topic != nullptr) operation = topic->key.operation;
    if (operation.empty()) operation = group_of(setup, options.group) + "/" + options.topic;
    std::vector<Candidate> found;
    const auto add = [&](const std::string& kind, std::string_view tenant) {
        const std::string text = kind == "cloudevents"
                                     ? cloudevents_key(options.cloudevents_source, options.key)
                                     : options.key;
        const Digest digest = digest_of({operation, tenant, kind, text});
        if (std::ranges::find(found, digest, &Candidate::digest) == found.end()) {
            found.push_back({kind, digest});
        }
    };
    for (const std::string& kind : kinds_of(options, topic)) {
        if (kind == "cloudevents" && options.cloudevents_source.empty()) continue;
        add(kind, options.tenant);
        // A key that was derived, where there was none, belongs to no tenant.
        if (kind == "coordinates") add(kind, "");
    }
    if (found.empty()) throw UsageError("a CloudEvent's key is its id and --source, its source");
    return found;
}

std::string kind_name(const std::vector<Candidate>& candidates, std::string_view uuid) {
    for (const Candidate& candidate : candidates) {
        if (uuid_text(candidate.digest) == uuid) return candidate.kind;
    }
    return "";
}

nlohmann::json optional_json(const std::optional<std::string_view>& text) {
    return text ? nlohmann::json(*text) : nlohmann::json(nullptr);
}

std::vector<Digest> digests_of(const std::vector<Candidate>& candidates) {
    std::vector<Digest> digests;
    for (const Candidate& candidate : candidates) digests.push_back(candidate.digest);
    return digests;
}

struct Claims {
    nlohmann::json list = nlohmann::json::array();
    std::string since;  // when the oldest generation that was looked at began
};

Claims find_claims(Connection& connection, const std::vector<Candidate>& candidates) {
    const Result generations = connection.query(sql::explain_generations, {});
    const std::vector<Digest> digests = digests_of(candidates);
    Claims claims;
    for (int row = 0; row < generations.rows(); ++row) {
        const std::string since(generations.text(row, 2));
        try {
            const bool has_ranges = generations.text(row, 5) != "table";
            const Result rows = connection.query(explain_statement(generations.text(row, 5)),
                                                 Parameters{}.digests(digests),
                                                 {{"table", generations.text(row, 4)}});
            for (int found = 0; found < rows.rows(); ++found) {
                claims.list.push_back({{"kind", kind_name(candidates, rows.text(found, 0))},
                                       {"digest", rows.text(found, 0)},
                                       {"claimed_at", rows.text(found, 1)},
                                       {"group", optional_json(rows.optional_text(found, 2))},
                                       {"topic", optional_json(rows.optional_text(found, 3))},
                                       {"partition", rows.integer(found, 4)},
                                       {"offset", rows.integer(found, 5)},
                                       {"ledger", generations.text(row, 0)},
                                       {"generation", generations.integer(row, 1)}});
                if (has_ranges) claims.list.back()["last_offset"] = rows.integer(found, 6);
                const int fingerprint = has_ranges ? 7 : 6;
                if (!rows.is_null(found, fingerprint)) {
                    claims.list.back()["fingerprint"] = rows.text(found, fingerprint);
                }
            }
        } catch (const PostgresError& error) {
            if (error.sqlstate() != "42P01") throw;
            continue;  // retention dropped it meanwhile
        }
        if (claims.since.empty() || since < claims.since) claims.since = since;
    }
    return claims;
}

nlohmann::json find_dead_letters(Connection& connection, const std::vector<Candidate>& candidates,
                                 const ExplainOptions& options) {
    nlohmann::json list = nlohmann::json::array();
    const Result rows = connection.query(
        sql::explain_dead_letters,
        Parameters{}.digests(digests_of(candidates)).bytes(options.key).text(options.topic));
    for (int row = 0; row < rows.rows(); ++row) {
        list.push_back({{"created_at", rows.text(row, 1)},
                        {"group", rows.text(row, 2)},
                        {"topic", rows.text(row, 3)},
                        {"partition", rows.integer(row, 4)},
                        {"offset", rows.integer(row, 5)},
                        {"error_class", rows.text(row, 6)},
                        {"sqlstate", rows.text(row, 7)},
                        {"reason", rows.text(row, 8)}});
        const auto places = rows.optional_text(row, 11);
        if (!rows.is_null(row, 9)) list.back()["fingerprint"] = rows.text(row, 9);
        if (!rows.is_null(row, 10)) list.back()["first_fingerprint"] = rows.text(row, 10);
        if (places) list.back()["first_places"] = nlohmann::json::parse(*places);
    }
    return list;
}

void print_text(const Claims& claims, const nlohmann::json& dead_letters) {
    const auto place = [](const nlohmann::json& at) {
        return (at["topic"].is_null() ? "a topic that is no longer known"
                                      : at["topic"].get<std::string>()) +
               " partition " + at["partition"].dump() +
               // A log knows its batches' places alone.
               (at.contains("last_offset") ? " between the offsets " + at["offset"].dump() +
                                                 " and " + at["last_offset"].dump()
                                           : " offset " + at["offset"].dump());
    };
    const auto with = [](const char* before, const nlohmann::json& of, const char* name) {
        return of.contains(name) ? before + of[name].get<std::string>() : "";
    };
    for (const auto& claim : claims.list) {
        std::cout << "applied at " << claim["claimed_at"].get<std::string>() << " from "
                  << place(claim) << "; key kind " << claim["kind"].get<std::string>()
                  << ", ledger " << claim["ledger"].get<std::string>() << " generation "
                  << claim["generation"] << with(", fingerprint ", claim, "fingerprint") << '\n';
    }
    if (claims.list.empty()) {
        std::cout << "not applied, as far as the claims go back: "
                  << (claims.since.empty() ? "there are none" : claims.since) << '\n';
    }
    for (const auto& letter : dead_letters) {
        std::cout << "dead letter at " << letter["created_at"].get<std::string>() << " from "
                  << place(letter) << ": " << letter["error_class"].get<std::string>() << ' '
                  << letter["sqlstate"].get<std::string>() << ' '
                  << letter["reason"].get<std::string>();
        // The message that has the key is at one of them.
        const char* between = "; first ";
        for (const auto& first : letter.value("first_places", nlohmann::json::array())) {
            std::cout << std::exchange(between, " or ") << place(first);
        }
        std::cout << with("; fingerprint ", letter, "fingerprint")
                  << with(", the first's ", letter, "first_fingerprint") << '\n';
    }
}

int explain(const ExplainOptions& options) {
    const OperatorSetup setup = operator_setup(options.common, "explain", options.topic);
    const std::vector<Candidate> wanted = candidates(options, setup);
    Connection connection(setup.connection);
    require_version(connection);
    const Claims claims = find_claims(connection, wanted);
    const nlohmann::json dead_letters = find_dead_letters(connection, wanted, options);
    if (options.json) {
        std::cout << nlohmann::json{{"applied", !claims.list.empty()},
                                    {"claims", claims.list},
                                    {"dead_letters", dead_letters},
                                    {"claims_since", claims.since}}
                         .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                  << '\n';
    } else {
        print_text(claims, dead_letters);
    }
    return claims.list.empty() ? exit_not_found : exit_ok;
}

}  // namespace

void add_explain(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand("explain", "Tell what became of an idempotency key");
    auto options = std::make_shared<ExplainOptions>();
    command->add_option("key", options->key, "The key as the message carries it")->required();
    command->add_option("--topic", options->topic, "The topic of the message")->required();
    add_operator_options(*command, options->common);
    command->add_option("--group", options->group, "The consumer group, without a configuration");
    command->add_option("--operation", options->operation,
                        "The key's operation; default: the configuration's, else GROUP/TOPIC");
    command->add_option("--tenant", options->tenant, "The key's tenant");
    command->add_option("--kind", options->kinds,
                        "Where the key came from, such as header:Idempotency-Key, field:/id or "
                        "record_key; default: every kind of the topic's configuration");
    command->add_option("--source", options->cloudevents_source,
                        "A CloudEvent's source; KEY is then its id");
    command->add_flag("--digest", options->is_digest, "KEY is a digest, as the logs print it");
    command->add_flag("--json", options->json, "Print one JSON object");
    command->footer(
        "Exit codes: 0 it was applied, 3 it was not, as far as the ledger remembers (it may have "
        "dead "
        "letters all the same).");
    commands.add(*command,
                 [options] { return run_operator_command([&] { return explain(*options); }); });
}

}  // namespace onceward
