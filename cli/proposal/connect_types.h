#pragma once
// The types of Kafka Connect and Debezium as columns: a schema's name says more than its type, for
// instance that a number is a day. Pure.

#include <optional>
#include <string>

#include "cli/proposal/type_choice.h"

namespace onceward {

// The column's type for a schema of this name; nullopt if the name says nothing.
std::optional<TypeChoice> named_connect_type(const std::string& name);

// By the type alone: `int32`, `string`, `struct`, ...; nullopt for one that is not known.
std::optional<TypeChoice> plain_connect_type(const std::string& type);

}  // namespace onceward
