#include "cli/dlq/dead_letters.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "dedup/base/text.h"
#include "schemas/queries.h"
#include "sinks/dead_letters/dead_letter_sink.h"

namespace onceward {
namespace {

std::vector<std::optional<std::string_view>> views(const std::vector<std::string>& texts) {
    return {texts.begin(), texts.end()};
}

std::optional<std::string> bytes_in(const QueryResult& rows, int row, int column) {
    const auto bytes = rows.optional_text(row, column);
    return bytes ? std::optional<std::string>(*bytes) : std::nullopt;
}

std::optional<std::int64_t> count_of(const std::optional<std::chrono::milliseconds>& time) {
    return time ? std::optional<std::int64_t>(time->count()) : std::nullopt;
}

std::string from_base64(const std::string& text) {
    std::string bytes;
    if (!append_base64(text, bytes)) {
        throw std::runtime_error("a dead letter's header is not base64");
    }
    return bytes;
}

}  // namespace

Parameters parameters_of(const DeadLetterFilter& filter) {
    return Parameters{filter.group, unless_empty(filter.topic), views(filter.classes),
                      count_of(filter.since), count_of(filter.until)}
        .optional_bytes(unless_empty(filter.key))
        .integers(filter.numbers)
        .texts(views(filter.states))
        .integer(filter.after)
        .integer(filter.limit);
}

Connection::Names matching_letters(const Connection& connection) {
    return {
        {"matching", replaced(std::string(sql::dlq_matching), "{schema}", connection.schema())}};
}

Connection::Names unchanged_letters(const Connection& connection) {
    return {
        {"unchanged", replaced(std::string(sql::dlq_unchanged), "{schema}", connection.schema())}};
}

bool holds_its_key(const Letter& letter) {
    return letter.record_key && letter.error_class != to_text(Rejection::Kind::hot_key);
}

std::vector<LetterGroup> summarize_letters(Connection& connection, const DeadLetterFilter& filter) {
    const QueryResult rows =
        connection.query(sql::dlq_summary, parameters_of(filter), matching_letters(connection));
    std::vector<LetterGroup> groups;
    for (int row = 0; row < rows.rows(); ++row) {
        const auto text = [&](int column) { return std::string(rows.text(row, column)); };
        groups.push_back({text(0), text(1), text(2), text(3), text(4), rows.integer(row, 5),
                          text(6), text(7), rows.integer(row, 8), text(9)});
    }
    return groups;
}

nlohmann::json to_json(const LetterGroup& group) {
    return {{"topic", group.topic},
            {"class", group.error_class},
            {"sqlstate", group.sqlstate},
            {"column", group.column.empty() ? nlohmann::json() : nlohmann::json(group.column)},
            {"reason", group.reason},
            {"count", group.count},
            {"oldest", group.oldest},
            {"newest", group.newest},
            {"newest_number", group.newest_number},
            {"example", group.example}};
}

std::vector<Letter> select_letters(Connection& connection, const DeadLetterFilter& filter) {
    const QueryResult rows = connection.prepared(sql::dlq_select, parameters_of(filter),
                                                 matching_letters(connection), true);
    std::vector<Letter> letters;
    for (int row = 0; row < rows.rows(); ++row) {
        const auto text = [&](int column) { return std::string(rows.text(row, column)); };
        const auto number = [&](int column) { return rows.binary_integer(row, column); };
        letters.push_back({number(0), text(1), Partition{static_cast<std::int32_t>(number(2))},
                           Offset{number(3)}, text(4), text(5), text(6), text(7), text(8),
                           number(9), bytes_in(rows, row, 10), bytes_in(rows, row, 11), number(13),
                           redrives_of(stored_headers(rows.text(row, 12))), number(14) != 0,
                           number(15) != 0});
    }
    return letters;
}

std::vector<std::int64_t> numbers_of(const std::vector<Letter>& letters) {
    std::vector<std::int64_t> numbers;
    for (const Letter& letter : letters) numbers.push_back(letter.number);
    return numbers;
}

std::int64_t discard_unchanged(Connection& connection, const std::vector<Letter>& letters,
                               const std::string& reason) {
    if (letters.empty()) return 0;
    std::vector<std::optional<std::string_view>> states;
    for (const Letter& letter : letters) states.emplace_back(letter.state);
    return connection
        .query(sql::dlq_discard, Parameters{numbers_of(letters), reason, states},
               unchanged_letters(connection))
        .integer(0, 0);
}

std::vector<StoredHeader> stored_headers(std::string_view json) {
    std::vector<StoredHeader> headers;
    try {
        for (const nlohmann::json& entry : nlohmann::json::parse(json)) {
            StoredHeader header;
            header.name = entry.contains("name_base64")
                              ? from_base64(entry["name_base64"].get<std::string>())
                              : entry.at("name").get<std::string>();
            const nlohmann::json& value = entry.at("value");
            if (!value.is_null()) header.value = from_base64(value.get<std::string>());
            headers.push_back(std::move(header));
        }
    } catch (const nlohmann::json::exception&) {
        throw std::runtime_error("a dead letter's headers are not as Onceward writes them");
    }
    return headers;
}

int redrives_of(const std::vector<StoredHeader>& headers) {
    int count = 0;
    for (const StoredHeader& header : headers) {
        if (header.name != redriven_header || !header.value) continue;
        count = std::max(count, number_of<int>(*header.value).value_or(0));
    }
    return count;
}

std::vector<DeadLetterRecord> read_records(Connection& connection,
                                           const std::vector<std::int64_t>& numbers) {
    const QueryResult rows = connection.prepared(sql::dlq_records, {numbers}, {}, true);
    std::vector<DeadLetterRecord> records;
    for (int row = 0; row < rows.rows(); ++row) {
        records.push_back({rows.binary_integer(row, 0),
                           Partition{static_cast<std::int32_t>(rows.binary_integer(row, 1))},
                           bytes_in(rows, row, 2), bytes_in(rows, row, 4),
                           stored_headers(rows.text(row, 3)), bytes_in(rows, row, 5),
                           bytes_in(rows, row, 6), bytes_in(rows, row, 7)});
    }
    const auto place = [&](const DeadLetterRecord& record) {
        return std::ranges::find(numbers, record.number) - numbers.begin();
    };
    std::ranges::sort(records, {}, place);
    return records;
}

namespace {

// A key's bytes in a form that people and JSON can hold.
nlohmann::json text_of(const std::optional<std::string>& bytes) {
    return bytes ? nlohmann::json(printable(*bytes)) : nlohmann::json(nullptr);
}

}  // namespace

nlohmann::json to_json(const Letter& letter) {
    return {{"number", letter.number},
            {"topic", letter.topic},
            {"partition", letter.partition.raw()},
            {"offset", letter.offset.raw()},
            {"class", letter.error_class},
            {"sqlstate", letter.sqlstate},
            {"reason", letter.reason},
            {"created_at", letter.created_at},
            {"state", letter.state},
            {"attempts", letter.attempts},
            {"redrives", letter.redrives},
            {"key", text_of(letter.key_text)},
            {"record_key", text_of(letter.record_key)},
            {"payload_bytes", letter.payload_bytes}};
}

nlohmann::json to_json(const Letter& letter, const DeadLetterRecord& record) {
    nlohmann::json json = to_json(letter);
    json["payload"] = text_of(record.payload);
    if (record.fingerprint) json["fingerprint"] = *record.fingerprint;
    if (record.first_fingerprint) json["first_fingerprint"] = *record.first_fingerprint;
    if (record.first_places) {
        json["first_places"] = nlohmann::json::parse(*record.first_places);
    }
    json["headers"] = nlohmann::json::array();
    for (const StoredHeader& header : record.headers) {
        json["headers"].push_back(
            {{"name", printable(header.name)}, {"value", text_of(header.value)}});
    }
    return json;
}

}  // namespace onceward
