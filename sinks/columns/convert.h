#pragma once
// Applies a column's conversions to a value. Pure, except for buffers that each thread has of its
// own; thread-safe.

#include "sinks/columns/column_encoder.h"
#include "sinks/columns/conversion.h"
#include "sinks/columns/decimal.h"

namespace onceward {

// What a source's values are.
inline Provenance provenance_of(FieldSource::Kind kind) {
    const bool field = kind == FieldSource::Kind::field || kind == FieldSource::Kind::metadata;
    return field ? Provenance::field : Provenance::whole;
}

// Makes `value` what the column's type will take: the fallback if it is missing, else what the
// steps make of it. `target` is the column's type; for a document, TypeKind::jsonb. `provenance`
// becomes `field` for a value that a step has made. What the new value views lives until this
// thread's next call, or as long as `conversion` and the value before. After a misfit the value
// means nothing.
[[nodiscard]] Misfit convert(const ColumnConversion& conversion, TypeKind target, Value& value,
                             Provenance& provenance);
// The same without the fallback, for the key of a row that is to be removed.
[[nodiscard]] Misfit convert_present(const ColumnConversion& conversion, TypeKind target,
                                     Value& value, Provenance& provenance);

}  // namespace onceward

// The families of steps, one file each. REQUIRES: the value is neither absent nor null. `room`
// holds what they make; the value may view another room. Pure, thread-safe.
namespace onceward::steps {

// Counts of seconds, days and their like.
Misfit epoch(Conversion::Kind kind, TypeKind target, Lossy lossy, Value& value, std::string& room);
Misfit cast(CastTarget to, TypeKind target, Lossy lossy, Value& value, std::string& room);
Misfit decimal(Value& value, std::string& room);
// Two's complement, the most significant byte first.
Misfit unscaled_decimal(std::string_view bytes, int scale, Value& value, std::string& room);

// The value as a number; nullopt if it is none.
std::optional<Decimal> decimal_of(const Value& value);

}  // namespace onceward::steps
