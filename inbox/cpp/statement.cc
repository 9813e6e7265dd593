#include "inbox/cpp/statement.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <pqxx/connection>
#include <stdexcept>
#include <utility>

namespace onceward::pqxx {
namespace {

constexpr std::array<std::pair<std::string_view, Outcome>, 7> outcomes{
    {{"fresh", Outcome::fresh},
     {"duplicate", Outcome::duplicate},
     {"failed", Outcome::failed},
     {"conflict", Outcome::conflict},
     {"unknown", Outcome::unknown},
     {"expired", Outcome::expired},
     {"in_flight", Outcome::in_flight}}};

std::string in_schema(std::string text, const std::string& schema) {
    static constexpr std::string_view mark = "{schema}";
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
        text.replace(at, mark.size(), schema);
        at += schema.size();
    }
    return text;
}

// JSON's strict writer takes the same bytes as PostgreSQL does.
bool is_utf8(const std::string& text) {
    try {
        static_cast<void>(nlohmann::json(text).dump());
        return true;
    } catch (const nlohmann::json::type_error&) {
        return false;
    }
}

// DANGER: libpq reads a text up to its first NUL. The tenant "a\0b" would get the keys of "a".
void check_texts(const ::pqxx::transaction_base& transaction, const Inbox& inbox) {
    if (inbox.operation.empty() || inbox.kind.empty()) {
        throw Refused(Refusal::argument, "an inbox has an operation and a kind");
    }
    const std::array<std::pair<const char*, const std::string*>, 5> texts{
        {{"operation", &inbox.operation},
         {"kind", &inbox.kind},
         {"tenant", &inbox.tenant},
         {"ledger", &inbox.ledger},
         {"schema", &inbox.schema}}};
    // PostgreSQL converts the texts of a client that has another encoding.
    const bool sends_utf8 = transaction.conn().get_client_encoding() == "UTF8";
    for (const auto& [name, text] : texts) {
        if (text->find('\0') != std::string::npos) {
            throw Refused(Refusal::argument, "the " + std::string(name) + " has a NUL");
        }
        if (sends_utf8 && !is_utf8(*text)) {
            throw Refused(Refusal::argument, "the " + std::string(name) + " is not in UTF-8");
        }
    }
}

void check_version(::pqxx::transaction_base& transaction, const Inbox& inbox,
                   const std::string& schema) {
    if (*inbox.checked) return;
    int found = 0;
    try {
        found = transaction.query_value<int>("SELECT " + schema + ".inbox_version()");
    } catch (const ::pqxx::sql_error& error) {
        if (error.sqlstate() != "42883" && error.sqlstate() != "3F000") throw;
    }
    if (found != inbox_version) {
        throw Refused(Refusal::version,
                      "schema " + inbox.schema + " has version " + std::to_string(found) +
                          " of the inbox, this library needs " + std::to_string(inbox_version) +
                          (found > inbox_version
                               ? ": upgrade the library"
                               : ": upgrade the schema with `onceward migrate up`"));
    }
    *inbox.checked = true;
}

}  // namespace

std::string_view name_of(Outcome outcome) {
    return std::ranges::find(outcomes, outcome, [](const auto& one) { return one.second; })->first;
}

::pqxx::result run(::pqxx::transaction_base& transaction, const Inbox& inbox, std::string text,
                   const ::pqxx::params& parameters) {
    check_texts(transaction, inbox);
    const std::string schema = transaction.quote_name(inbox.schema);
    check_version(transaction, inbox, schema);
    try {
        return transaction.exec(in_schema(std::move(text), schema), parameters);
    } catch (const ::pqxx::sql_error& error) {
        rethrow(error);
    }
}

std::string ledger_of(const Inbox& inbox, const char* unnamed) {
    return inbox.ledger.empty() ? unnamed : inbox.ledger;
}

std::optional<std::string> text_of(const std::optional<Uuid>& value) {
    return value ? std::optional(value->text()) : std::nullopt;
}

std::optional<std::string> text_of(const std::optional<Time>& value) {
    if (!value) return std::nullopt;
    const auto day = std::chrono::floor<std::chrono::days>(*value);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(*value - day);
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d.%06dZ",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                  static_cast<int>(time.minutes().count()),
                  static_cast<int>(time.seconds().count()),
                  static_cast<int>(time.subseconds().count()));
    return text.data();
}

std::string headers_of(const Result& result) {
    nlohmann::json list = nlohmann::json::array();
    for (const Header& header : result.headers) {
        list.push_back({{"name", header.name}, {"value", header.value}});
    }
    try {
        return list.dump();
    } catch (const nlohmann::json::type_error& error) {
        throw Refused(Refusal::argument, "a header is not in UTF-8: " + std::string(error.what()));
    }
}

std::string array_of(std::span<const std::optional<std::string>> elements) {
    std::string text = "{";
    for (const auto& element : elements) {
        if (text.size() > 1) text += ',';
        text += element ? '"' + *element + '"' : "NULL";
    }
    return text + '}';
}

std::string array_of(const ::pqxx::transaction_base& transaction,
                     std::span<const std::string> elements) {
    std::vector<std::optional<std::string>> escaped;
    for (const std::string& element : elements) {
        // A backslash more, for the array.
        escaped.emplace_back('\\' + transaction.esc_raw(::pqxx::binary_cast(element)));
    }
    return array_of(escaped);
}

Outcome outcome_of(const ::pqxx::field& column) {
    const auto* const found =
        std::ranges::find(outcomes, column.view(), [](const auto& one) { return one.first; });
    if (found == outcomes.end()) {
        throw std::runtime_error("this library does not know the outcome " +
                                 column.as<std::string>());
    }
    return found->second;
}

Uuid uuid_of(const ::pqxx::field& column) { return Uuid::parse(column.view()); }

std::string result_columns(std::string_view time) {
    return "a.status, a.headers::text, a.body, (extract(epoch FROM a." + std::string(time) +
           ") * 1000000)::bigint";
}

std::optional<StoredResult> result_of(const ::pqxx::row& row, int first) {
    if (row[first].is_null()) return std::nullopt;
    const std::chrono::microseconds since_epoch(row[first + 3].as<std::int64_t>());
    StoredResult result{.status = row[first].as<int>(),
                        .headers = {},
                        .body = std::nullopt,
                        .stored_at = Time(since_epoch)};
    for (const auto& header : nlohmann::json::parse(row[first + 1].as<std::string>("[]"))) {
        result.headers.push_back({header.at("name"), header.at("value")});
    }
    if (!row[first + 2].is_null()) {
        const auto bytes = row[first + 2].as<::pqxx::bytes>();
        result.body.emplace(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return result;
}

}  // namespace onceward::pqxx
