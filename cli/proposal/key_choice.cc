#include "cli/proposal/key_choice.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory_resource>
#include <optional>
#include <set>

#include "consumer/intake/key_options.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

using Records = std::span<const Record* const>;

std::string counts_text(const KeyCounts& counts, std::size_t records) {
    return std::to_string(counts.distinct) + " of " + std::to_string(records) + " distinct";
}

// The keys that `read` finds in the records.
KeyCounts count_keys(Records records,
                     const std::function<std::optional<std::string_view>(const Record&)>& read) {
    std::set<std::string> keys;
    std::size_t found = 0;
    for (const Record* const record : records) {
        const auto key = read(*record);
        if (!key || key_fault(*key, {}) != nullptr) continue;
        ++found;
        keys.emplace(*key);
    }
    return {found, keys.size()};
}

KeyCounts count_header(Records records, const std::string& name) {
    return count_keys(records, [&](const Record& record) { return last_header(record, name); });
}

// Where producers say themselves what a message's key is.
struct KeyHeader {
    const char* preset;  // '': the header alone is the source
    const char* header;
    const char* also;  // a header that has to be there too; '' for none
};
constexpr std::array<KeyHeader, 4> key_headers{{{"idempotency-key", "Idempotency-Key", ""},
                                                {"idempotency-key", "idempotency-key", ""},
                                                {"cloudevents", "ce_id", "ce_source"},
                                                {"", "ce_id", ""}}};

std::optional<KeyChoice> by_header(Records records, std::vector<std::string>& notes) {
    for (const KeyHeader& one : key_headers) {
        const KeyCounts counts = count_header(records, one.header);
        if (counts.found == 0) continue;
        const std::string name = "the header `" + std::string(one.header) + "`";
        if (counts.found < records.size()) {
            notes.push_back(name + " is in " + std::to_string(counts.found) + " of " +
                            std::to_string(records.size()) +
                            " records only, so it was not taken as the key");
            continue;
        }
        const std::string also = one.also;
        if (!also.empty() && count_header(records, also).found < records.size()) continue;
        KeyChoice choice{.preset = one.preset,
                         .evidence = name + ": " + counts_text(counts, records.size())};
        if (choice.preset.empty()) choice.source = "{header: " + std::string(one.header) + "}";
        return choice;
    }
    return std::nullopt;
}

std::optional<KeyChoice> by_field(std::size_t records, std::vector<KeyField> fields,
                                  std::vector<std::string>& notes) {
    std::ranges::stable_sort(fields, {}, [](const KeyField& field) {
        return key_rank(field.name).value_or(std::numeric_limits<int>::max());
    });
    for (const KeyField& field : fields) {
        const std::string name = "the field `" + safe_value(field.name, 100) + "`";
        const bool unique = field.counts.found == records && field.counts.distinct == records;
        if (!unique) {
            notes.push_back(name + " is called as a key is, and was not taken: " +
                            std::to_string(field.counts.found) + " of " + std::to_string(records) +
                            " records have it, " + std::to_string(field.counts.distinct) +
                            " distinct");
            continue;
        }
        return KeyChoice{
            .source = field.source,
            .evidence = name + ": " + counts_text(field.counts, records) +
                        ". If two messages may be about one of it, the second would be a "
                        "duplicate: take `preset: kafka-coordinates` then"};
    }
    return std::nullopt;
}

std::optional<KeyChoice> by_record_key(Records records, std::vector<std::string>& notes) {
    const KeyCounts counts = count_keys(records, [](const Record& record) { return record.key; });
    if (counts.found == 0) return std::nullopt;
    if (counts.found == records.size() && counts.distinct == records.size()) {
        return KeyChoice{.source = "record_key",
                         .evidence = "the record's key: " + counts_text(counts, records.size())};
    }
    notes.push_back("the record's key was not taken: " + std::to_string(counts.found) + " of " +
                    std::to_string(records.size()) + " records have one, " +
                    std::to_string(counts.distinct) + " distinct");
    return std::nullopt;
}

KeyChoice by_coordinates(const std::string& why) {
    return {.preset = "kafka-coordinates",
            .evidence = why +
                        ": what Kafka delivers twice counts once, and what a producer sends twice "
                        "counts twice"};
}

}  // namespace

std::optional<int> key_rank(const std::string& field) {
    static constexpr std::array<std::string_view, 6> names = {
        "idempotencykey", "eventid", "messageid", "requestid", "uuid", "id"};
    std::string plain;
    for (const char letter : lower_case(field)) {
        if (letter != '_' && letter != '-') plain += letter;
    }
    const auto found = std::ranges::find(names, std::string_view(plain));
    if (found == names.end()) return std::nullopt;
    return static_cast<int>(found - names.begin());
}

KeyChoice choose_key(Records records, std::vector<KeyField> fields) {
    if (records.empty()) return by_coordinates("the sample has no message");
    std::vector<std::string> notes;
    std::optional<KeyChoice> choice = by_header(records, notes);
    if (!choice) choice = by_field(records.size(), std::move(fields), notes);
    if (!choice) choice = by_record_key(records, notes);
    if (!choice) {
        choice = by_coordinates(
            "no header, no field and no record key was found that differs in each record");
    }
    choice->notes = std::move(notes);
    return *choice;
}

KeyChoice choose_change_key(std::size_t records, const KeyCounts& changes) {
    if (records == 0) return by_coordinates("the sample has no message");
    if (changes.found == records) {
        return {.preset = "debezium-postgres",
                .evidence = "each change has its place in PostgreSQL's log and a record key: " +
                            counts_text(changes, records) +
                            ". What Debezium sends again after a crash counts once"};
    }
    return by_coordinates("the changes of a row share its id, and " +
                          std::to_string(changes.found) + " of " + std::to_string(records) +
                          " have a place in PostgreSQL's log and a record key");
}

}  // namespace onceward
