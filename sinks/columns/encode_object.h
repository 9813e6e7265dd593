#pragma once
// Values as a JSON object, as functions and the outbox take them. Pure, thread-safe; throws only
// std::bad_alloc.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinks/columns/column_options.h"
#include "sinks/columns/convert.h"

namespace onceward::encode {

// Appends an object with the members that have a value, each after its conversions. `missing` is
// the reason if a `required` member has no value. `where`: a member's name in a rejection.
// `append`: appends the JSON of a value that is not null.
template <class Where, class Append>
std::optional<Rejection> object(const std::vector<ColumnOptions>& members,
                                std::span<const Value> values, std::string_view missing,
                                Where where, Append append, std::string& out) {
    const std::size_t start = out.size();
    for (std::size_t i = 0; i < members.size(); ++i) {
        const ColumnOptions& member = members[i];
        Value value = values[i];
        Misfit misfit;
        if (member.conversion.changes_values()) {
            Provenance provenance = provenance_of(member.source.kind);
            misfit = convert(member.conversion, TypeKind::jsonb, value, provenance);
            if (!misfit.empty()) return unmappable_value(where(member), misfit);
        }
        if (value.kind == Value::Kind::absent) {
            if (!member.required) continue;
            return unmappable_value(where(member), missing);
        }
        out.push_back(out.size() == start ? '{' : ',');
        misfit = json({Value::Kind::text, {}, member.name}, Provenance::field, out);
        out.push_back(':');
        if (misfit.empty() && value.kind == Value::Kind::null) {
            out.append("null");
        } else if (misfit.empty()) {
            misfit = append(member, value, out);
        }
        if (!misfit.empty()) return unmappable_value(where(member), misfit);
    }
    out.append(out.size() == start ? "{}" : "}");
    return std::nullopt;
}

}  // namespace onceward::encode
