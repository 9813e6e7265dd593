#pragma once
// What a sink would write for a message, as text: for tests of a configuration, which have no
// database. Plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace onceward {

// The columns of a table by name, each with its type as PostgreSQL prints it.
using ColumnTypes = std::vector<std::pair<std::string, std::string>>;

struct PreviewField {
    std::string name;
    std::string type;                 // of a column, as PostgreSQL prints it; '' elsewhere
    std::optional<std::string> text;  // nullopt: NULL, or a null key or payload
};

struct Preview {
    enum class Kind : std::uint8_t {
        row,      // of a table, inserted or upserted; one field for each column
        removal,  // of a row; one field for each column of its key
        call,     // of a function; one field `document`, the JSON that it receives
        record,   // to a topic, by the outbox; fields `key` and `payload`
        request,  // of a webhook; fields `method` and `body`
    };
    Kind kind = Kind::row;
    std::string target{};  // the table, function or topic; '' for a webhook, whose URL is a secret
    std::vector<PreviewField> fields{};
    std::vector<PreviewField> headers{};  // of a record or request
};

}  // namespace onceward
