#include "sinks/columns/conversion_check.h"

#include <simdjson.h>

#include "sinks/columns/column_encoder.h"

namespace onceward {
namespace {

using StepKind = Conversion::Kind;

// What is known of a value between two steps, for any message.
enum class Shape : std::uint8_t {
    any,       // a field of the payload
    text,      // also bytes that came whole
    bytes,
    number,
    boolean,
    counted,   // a count of seconds and their like: since 1970, or since midnight for a `time`
    instant,
    date,
};

std::string in_quotes(std::string_view name) { return "`" + std::string(name) + "`"; }

Shape shape_of(const FieldSource& source) {
    switch (source.kind) {
        case FieldSource::Kind::field: return Shape::any;
        case FieldSource::Kind::metadata:
            if (source.text == "timestamp") return Shape::instant;
            return source.text == "topic" ? Shape::text : Shape::number;
        case FieldSource::Kind::header:
        case FieldSource::Kind::record_key:
        case FieldSource::Kind::payload:
        case FieldSource::Kind::constant:
        case FieldSource::Kind::key: return Shape::text;
    }
    return Shape::any;
}

bool takes(const Conversion& step, Shape shape) {
    const bool text = shape == Shape::any || shape == Shape::text || shape == Shape::bytes;
    const bool time = shape == Shape::counted || shape == Shape::instant || shape == Shape::date;
    switch (step.kind) {
        case StepKind::base64:
        case StepKind::base64_decimal:
        case StepKind::trim:
        case StepKind::lower:
        case StepKind::upper:
        case StepKind::json: return text;
        case StepKind::epoch_seconds:
        case StepKind::epoch_millis:
        case StepKind::epoch_micros:
        case StepKind::epoch_nanos:
        case StepKind::epoch_days:
        case StepKind::decimal: return text || shape == Shape::number;
        case StepKind::map: return !time;
        case StepKind::cast: break;
    }
    switch (step.cast) {
        case CastTarget::text: return true;
        case CastTarget::integer:
        case CastTarget::boolean: return !time;
        case CastTarget::date:
        case CastTarget::timestamptz: return text || time;
    }
    return true;
}

Shape made_by(const Conversion& step, Shape before) {
    switch (step.kind) {
        case StepKind::epoch_seconds:
        case StepKind::epoch_millis:
        case StepKind::epoch_micros:
        case StepKind::epoch_nanos: return Shape::counted;
        case StepKind::epoch_days: return Shape::date;
        case StepKind::base64: return Shape::bytes;
        case StepKind::base64_decimal:
        case StepKind::decimal: return Shape::number;
        case StepKind::trim:
        case StepKind::lower:
        case StepKind::upper: return before;
        case StepKind::map:
        case StepKind::json: return Shape::any;
        case StepKind::cast: break;
    }
    switch (step.cast) {
        case CastTarget::text: return Shape::text;
        case CastTarget::integer: return Shape::number;
        case CastTarget::boolean: return Shape::boolean;
        case CastTarget::date: return Shape::date;
        case CastTarget::timestamptz: return Shape::instant;
    }
    return Shape::any;
}

Shape last_shape(const ColumnOptions& column) {
    Shape shape = shape_of(column.source);
    for (const Conversion& step : column.conversion.steps) shape = made_by(step, shape);
    return shape;
}

bool is_number_type(TypeKind kind) {
    switch (kind) {
        case TypeKind::int2:
        case TypeKind::int4:
        case TypeKind::int8:
        case TypeKind::float4:
        case TypeKind::float8:
        case TypeKind::numeric: return true;
        default: return false;
    }
}

bool takes(TypeKind kind, Shape shape) {
    const bool text = kind == TypeKind::text;
    const bool json = kind == TypeKind::json || kind == TypeKind::jsonb;
    const bool moment = kind == TypeKind::timestamp || kind == TypeKind::timestamptz;
    switch (shape) {
        case Shape::any: return true;
        case Shape::text: return kind != TypeKind::array;
        case Shape::bytes: return kind != TypeKind::array && !json;
        case Shape::number: return is_number_type(kind) || text || json;
        case Shape::boolean: return kind == TypeKind::boolean || text || json;
        case Shape::counted:
            return moment || kind == TypeKind::date || kind == TypeKind::time || text || json;
        case Shape::instant: return moment || text || json;
        case Shape::date: return moment || kind == TypeKind::date || text || json;
    }
    return true;
}

// Whether a value may have digits that a column of this type cannot keep.
bool may_lose(const ColumnType& type) {
    switch (type.kind) {
        case TypeKind::int2:
        case TypeKind::int4:
        case TypeKind::int8:
        case TypeKind::time:
        case TypeKind::timestamp:
        case TypeKind::timestamptz: return true;
        case TypeKind::numeric: return type.precision > 0;
        case TypeKind::array: return may_lose(*type.element);
        default: return false;
    }
}

// Whether a step alone may lose something, for any column.
bool has_lossy_step(const ColumnOptions& column) {
    for (const Conversion& step : column.conversion.steps) {
        const bool cast = step.kind == StepKind::cast;
        if (cast && (step.cast == CastTarget::integer || step.cast == CastTarget::date)) {
            return true;
        }
    }
    return false;
}

std::string lossy_fault(const ColumnOptions& column, const ColumnType& type) {
    if (column.conversion.lossy == Lossy::refuse) return "";
    const bool date = type.kind == TypeKind::date && !column.conversion.steps.empty();
    if (date && column.conversion.lossy == Lossy::round) {
        return "cannot be rounded to a date; write `lossy: truncate`, or remove it";
    }
    if (may_lose(type) || date || has_lossy_step(column)) return "";
    const bool real = type.kind == TypeKind::float4 || type.kind == TypeKind::float8;
    return real ? "has `lossy`, and its type always takes the nearest value; remove it"
                : "has `lossy`, which has no effect on its type; remove it";
}

std::string constant_fault(const ConstantValue& constant, Provenance provenance,
                           const ColumnType& type) {
    Value value = constant.value();
    if (type.kind == TypeKind::array) value.kind = Value::Kind::json;
    std::string bytes;
    Misfit misfit = append_value(value, type, provenance, bytes);
    const bool json = type.kind == TypeKind::json || type.kind == TypeKind::jsonb;
    if (misfit.empty() && json && provenance == Provenance::whole) {
        simdjson::dom::parser parser;
        const simdjson::padded_string padded(constant.text);
        if (parser.parse(padded).error() != simdjson::SUCCESS) misfit = "is not JSON";
    }
    return std::string(misfit);
}

}  // namespace

std::string order_fault(const ColumnOptions& column) {
    Shape shape = shape_of(column.source);
    const Conversion* before = nullptr;
    for (const Conversion& step : column.conversion.steps) {
        if (!takes(step, shape)) {
            const std::string step_name = in_quotes(name_of(step));
            return before == nullptr
                       ? step_name + " cannot take what this source gives"
                       : step_name + " cannot follow " + in_quotes(name_of(*before)) +
                             ", which makes something that it does not take";
        }
        shape = made_by(step, shape);
        before = &step;
    }
    return "";
}

std::vector<std::string> type_faults(const ColumnOptions& column, const ColumnType& type) {
    std::vector<std::string> faults;
    const ColumnConversion& conversion = column.conversion;
    if (!conversion.steps.empty() && !takes(type.kind, last_shape(column))) {
        faults.push_back("cannot take what " + in_quotes(name_of(conversion.steps.back())) +
                         " makes");
    }
    if (std::string fault = lossy_fault(column, type); !fault.empty()) {
        faults.push_back(std::move(fault));
    }
    if (conversion.fallback) {
        const std::string fault = constant_fault(*conversion.fallback, Provenance::whole, type);
        if (!fault.empty()) faults.push_back("has a `default` that " + fault);
    }
    if (conversion.steps.empty() || conversion.steps.back().kind != StepKind::map) return faults;
    const Conversion& map = conversion.steps.back();
    for (const auto& [from, to] : map.map) {
        const std::string fault = constant_fault(to, Provenance::field, type);
        if (!fault.empty()) faults.push_back("maps " + in_quotes(from) + " to what " + fault);
    }
    if (map.otherwise) {
        const std::string fault = constant_fault(*map.otherwise, Provenance::field, type);
        if (!fault.empty()) faults.push_back("has an `otherwise` that " + fault);
    }
    return faults;
}

std::string document_fault(const ColumnOptions& member) {
    if (!member.conversion.steps.empty() && last_shape(member) == Shape::bytes) {
        return "makes bytes with `base64`, which a JSON document cannot hold; add `{cast: text}` "
               "if they are text";
    }
    return header_fault(member);
}

std::string header_fault(const ColumnOptions& header) {
    if (header.conversion.lossy == Lossy::refuse || has_lossy_step(header)) return "";
    return "has `lossy`, and every digit is kept here; remove it";
}

}  // namespace onceward
