#pragma once
// Single values of Kafka Connect's and Debezium's types as a producer of plain JSON would write
// them: exact, or refused. Pure; thread-safe. The functions that append return what is wrong; what
// was appended then means nothing.

#include <cstdint>
#include <string>
#include <string_view>

#include "consumer/decode/connect/connect_type.h"

namespace onceward {

// Why a value is not one of its type, as a literal; nullptr if it is.
using ConnectFault = const char*;

// With each digit, and each zero of the scale.
ConnectFault append_connect_decimal(std::string_view base64, std::int64_t scale, std::string& out);
// {"scale": n, "value": base64}.
ConnectFault append_variable_decimal(std::string_view json, std::string& out);
// A date, a time, or a date and time; a point in time with Z.
ConnectFault append_connect_time(ConnectType type, std::int64_t count, std::string& out);

// Whether all of it is one JSON value; there may be blanks around it.
bool is_json_text(std::string_view text);

}  // namespace onceward
