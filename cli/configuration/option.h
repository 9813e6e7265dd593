#pragma once
// What an option is. The table of all options (option_table.h) is the one place that says what a
// configuration may hold: the loader, the reference in docs/ and the JSON Schema are made from it.
// Plain values.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
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
    choice,       // one of OptionBinding::choices
    texts,        // a list of texts
    properties,   // librdkafka's, name to value
    start,        // committed | earliest | latest | a time
    key_sources,  // a list of key sources
    source,       // one field source
    columns,      // column name to field source
    fingerprint,  // none | payload or what else is the choice | {fields: [...]}
    minted,       // none | uuid7 | ce_time | {header: ...} | {field: ...}
    headers,      // HTTP's, name to value; values are never printed
    attributes,   // name to value
};

using PropertyMap = std::map<std::string, Secret>;  // librdkafka's properties, or headers
using HeaderList = std::vector<std::pair<std::string, Secret>>;

// One of OptionBinding::choices.
struct Choice {
    std::size_t index = 0;
    std::string_view name;
};

// An option's value; which alternative holds it follows from the type. A duration is a number of
// milliseconds.
using OptionValue =
    std::variant<std::string, std::int64_t, double, DailyHours, Choice, std::vector<std::string>,
                 PropertyMap, StartPosition, std::vector<KeySource>, FieldSource,
                 std::vector<ColumnOptions>, FingerprintOptions, MintedSource>;

// The parts of a topic or route that is being filled, of which it uses some.
struct MessageTarget {
    LedgerOptions ledger{};
    TableSinkOptions table{};
    OutboxOptions outbox{};
    OutboxOptions also_publish{};
    LetterTopic dead_letters{};
    FunctionSinkOptions function{};
    WebhookOptions webhook{};
};

// What is being filled; null outside of databases[], registries[], topics[] and http.routes[].
struct OptionTarget : MessageTarget {
    explicit OptionTarget(Configuration& filled) : configuration(filled) {}

    Configuration& configuration;
    DatabaseConfiguration* database = nullptr;
    RegistryConfiguration* registry = nullptr;
    TopicConfiguration* topic = nullptr;
    RouteConfiguration* route = nullptr;
};

// What an integer, a size, a number or a duration (in milliseconds) may be.
struct OptionLimits {
    std::int64_t minimum = 0;
    std::int64_t maximum = INT64_MAX;
};

// Where an option's value is stored, which decides its type, and what the value may be.
struct OptionBinding {
    OptionType type = OptionType::text;
    void (*set)(OptionTarget& to, const OptionValue& value) = nullptr;
    std::vector<std::string_view> choices{};
    OptionLimits limits{};
};

// In place of a default: an error if the file has no such option.
inline constexpr const char* must_be_given = "<must be given>";

struct OptionSpec {
    std::string path;  // such as `topics[].key.length_max`
    // The value if the file has no such option. '' leaves the option out; `<...>` describes a value
    // that is computed.
    std::string default_text;
    OptionBinding bind;
    std::string meaning;
    std::string cost{};  // what another value costs or risks; '' if nothing is worth saying

    bool required() const { return default_text == must_be_given; }
    // Whether there is a value to bind when the file has none.
    bool has_default() const { return !default_text.empty() && default_text.front() != '<'; }
};

// What stands for the whole in a fingerprint: `payload`, unless it has a choice.
inline std::string whole_of(const OptionSpec& spec) {
    return spec.bind.choices.empty() ? "payload" : std::string(spec.bind.choices.front());
}

}  // namespace onceward
