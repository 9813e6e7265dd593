#pragma once
// What an option is. The table of all options (option_table.h) is the one place that says what a
// configuration may hold: the loader, the reference in docs/ and the JSON Schema are made from it.
// Plain values.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/configuration/configuration.h"

namespace onceward {

enum class OptionType : std::uint8_t {
    text,
    secret,  // a text that is never printed
    integer,
    number,
    duration,     // `500ms`, `5s`, `24h`
    size,         // `8MiB`, `100MB`
    hours,        // `01:00-05:00`, of each day in UTC
    choice,       // one of OptionSpec::choices
    texts,        // a list of texts
    properties,   // librdkafka's, name to value
    start,        // committed | earliest | latest | a time
    key_sources,  // a list of key sources
    source,       // one field source
    columns,      // column name to field source
    fingerprint,  // none | payload | {fields: [...]}
    headers,      // HTTP's, name to value; values are never printed
};

// An option's value; which member holds it follows from the type.
struct OptionValue {
    std::string text;          // text, secret
    std::int64_t integer = 0;  // integer, size
    double number = 0;
    std::chrono::milliseconds duration{0};
    DailyHours hours;
    std::size_t choice = 0;  // index in OptionSpec::choices
    std::vector<std::string> texts;
    std::map<std::string, Secret> properties;  // and headers
    StartPosition start;
    std::vector<KeySource> key_sources;
    FieldSource source;
    std::vector<ColumnOptions> columns;
    FingerprintOptions fingerprint;
};

// What is being filled; null outside of databases[], of topics[] and of http.routes[].
struct OptionTarget {
    Configuration& configuration;
    DatabaseConfiguration* database = nullptr;
    TopicConfiguration* topic = nullptr;
    LedgerOptions* ledger = nullptr;    // the topic's own
    TableSinkOptions* table = nullptr;  // the topic's own
    OutboxOptions* outbox = nullptr;
    OutboxOptions* also_publish = nullptr;
    FunctionSinkOptions* function = nullptr;
    WebhookOptions* webhook = nullptr;
    RouteConfiguration* route = nullptr;
};

struct OptionSpec {
    std::string_view path{};  // such as `topics[].key.length_max`
    OptionType type = OptionType::text;
    // Bound when the file has no such option; '' leaves it out, and `<...>` is computed and only
    // described.
    std::string_view default_text{};
    bool required = false;
    std::string_view meaning{};
    std::string_view cost{};  // what another value costs or risks; '' where nothing is worth saying
    void (*bind)(OptionTarget& to, const OptionValue& value) = nullptr;
    std::vector<std::string_view> choices{};
    std::int64_t minimum = 0;  // integer, size; milliseconds for durations
    std::int64_t maximum = INT64_MAX;
};

}  // namespace onceward
