#include "cli/keys/dead_letter_lookup.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/keys/key_lookup.h"
#include "dedup/base/text.h"
#include "schemas/queries.h"

namespace onceward {

nlohmann::json find_letters(Connection& connection, const DeadLetterQuestion& question) {
    nlohmann::json list = nlohmann::json::array();
    const std::vector<std::optional<std::string_view>> topics(question.topics.begin(),
                                                              question.topics.end());
    const QueryResult rows =
        connection.query(sql::explain_dead_letters, Parameters{}
                                                        .digests(question.digests)
                                                        .bytes(question.key_text)
                                                        .texts(topics)
                                                        .optional_text(question.only));
    for (int row = 0; row < rows.rows(); ++row) {
        list.push_back({{"number", rows.integer(row, 12)},
                        {"state", rows.text(row, 14)},
                        {"attempts", rows.integer(row, 13)},
                        {"created_at", rows.text(row, 1)},
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

nlohmann::json find_discarded(Connection& connection, const DeadLetterQuestion& question) {
    nlohmann::json list = nlohmann::json::array();
    try {
        const QueryResult rows =
            connection.query(sql::explain_discarded_dead_letters,
                             Parameters{}.digests(question.digests).optional_text(question.only));
        for (int row = 0; row < rows.rows(); ++row) {
            list.push_back({{"number", rows.integer(row, 0)},
                            {"state", "discarded"},
                            {"created_at", rows.text(row, 1)},
                            {"group", rows.text(row, 2)},
                            {"topic", rows.text(row, 3)},
                            {"partition", rows.integer(row, 4)},
                            {"offset", rows.integer(row, 5)},
                            {"error_class", rows.text(row, 6)},
                            {"sqlstate", rows.text(row, 7)},
                            {"reason", rows.text(row, 8)},
                            {"discarded_by", rows.text(row, 9)},
                            {"discarded_at", rows.text(row, 10)}});
        }
    } catch (const PostgresError& error) {
        if (error.sqlstate() != "42501") throw;
        return nullptr;
    }
    return list;
}

std::string letter_text(const nlohmann::json& letter) {
    const auto text = [&](const char* name) { return letter[name].get<std::string>(); };
    std::string said = "dead letter " + letter["number"].dump() + " (" + text("state") +
                       (letter.contains("attempts") ? ", tries " + letter["attempts"].dump() : "") +
                       ") at " + text("created_at") + " from " + place_text(letter) + ": " +
                       text("error_class") + ' ' + text("sqlstate");
    if (letter.contains("discarded_at")) {
        return said + "; discarded at " + text("discarded_at") + " by " + text("discarded_by") +
               ": " + safe_value(text("reason"));
    }
    said += ' ' + safe_value(text("reason"));
    if (letter.contains("first_places")) said += "; first " + places_text(letter["first_places"]);
    return said + text_with("; fingerprint ", letter, "fingerprint") +
           text_with(", the first's ", letter, "first_fingerprint");
}

}  // namespace onceward
