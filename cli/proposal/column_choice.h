#pragma once
// From what is known of a field to its column, with what was not certain. Pure.

#include <optional>
#include <string>
#include <vector>

#include "cli/proposal/declared_fields.h"
#include "cli/proposal/field_evidence.h"

namespace onceward {

struct ColumnChoice {
    TypeChoice choice{};  // without a type: no column takes all of the field's values
    bool required = false;
    std::vector<std::string> notes{};  // sentences without their subject, the field
};

// `declared`: what a schema says of it, if it does.
ColumnChoice choose_column(const std::string& field, const DeclaredField* declared,
                           const FieldEvidence& evidence);

// A column's name, which PostgreSQL, YAML and a terminal take as it is: the field's, or one made of
// it. `taken`: the names so far, to which it is added.
std::string column_name(const std::string& field, std::vector<std::string>& taken);

}  // namespace onceward
