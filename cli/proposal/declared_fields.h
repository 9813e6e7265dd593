#pragma once
// What a schema says of a row's fields: Kafka Connect's, which JSON messages may bring with them,
// and Avro's, with what Connect's converters note in it. Pure.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/proposal/type_choice.h"
#include "consumer/decode/schema_source.h"

namespace onceward {

struct DeclaredField {
    std::string name;
    TypeChoice choice;
    bool required = false;  // it has a value in each message
    std::string note{};     // what is worth saying; '' if nothing is
    friend bool operator==(const DeclaredField&, const DeclaredField&) = default;
};

struct DeclaredRow {
    bool change_event = false;  // of Debezium: the fields are those of `after`
    std::vector<DeclaredField> fields;
};

// `schema`: the member of that name in a message. Fields that it does not describe are left out.
DeclaredRow connect_row(const nlohmann::ordered_json& schema);

// Throws FormatError if it is no Avro schema. A schema that is no record has no fields.
DeclaredRow avro_row(const WrittenSchema& schema);

// What all of them say. A field that is missing in one of them is not required; one that they
// declare in different ways has no type here but a note.
DeclaredRow common_row(const std::vector<DeclaredRow>& rows);

}  // namespace onceward
