#include "sinks/columns/column_encoder.h"

#include "dedup/postgres/binary.h"

namespace onceward {
namespace {

Misfit boolean(const Value& value, std::string& out) {
    const bool text = value.kind == Value::Kind::text || value.kind == Value::Kind::bytes;
    const bool fits =
        text ? value.text == "true" || value.text == "false" : value.kind == Value::Kind::boolean;
    if (!fits) return "is neither true nor false";
    out.push_back((text ? value.text == "true" : value.boolean) ? 1 : 0);
    return {};
}

Misfit append_present(const Value& value, const ColumnType& type, Provenance provenance,
                      Lossy lossy, std::string& out) {
    switch (type.kind) {
        case TypeKind::boolean: return boolean(value, out);
        case TypeKind::int2:
        case TypeKind::int4:
        case TypeKind::int8: return encode::whole(value, type.kind, lossy, out);
        case TypeKind::float4:
        case TypeKind::float8: return encode::real(value, type.kind, out);
        case TypeKind::numeric: return encode::numeric(value, type, lossy, out);
        // An enum's labels may grow while we run: only the server knows them.
        case TypeKind::enumeration:
        case TypeKind::text: return encode::text(value, type, out);
        case TypeKind::bytea: return encode::bytea(value, provenance, out);
        case TypeKind::uuid: return encode::uuid(value, out);
        case TypeKind::jsonb:
            out.push_back(1);  // the version of jsonb's binary form
            return encode::json(value, provenance, out);
        case TypeKind::json: return encode::json(value, provenance, out);
        case TypeKind::date: return encode::date(value, out);
        case TypeKind::time: return encode::time_of_day(value, type, lossy, out);
        case TypeKind::timestamp:
        case TypeKind::timestamptz: return encode::moment(value, type, lossy, out);
        case TypeKind::array: return encode::array(value, type, lossy, out);
    }
    return "has a type that is not supported";
}

}  // namespace

Rejection unmappable_value(std::string_view where, std::string_view misfit) {
    return {.kind = Rejection::Kind::unmappable,
            .reason = std::string(where) + ": the value " + std::string(misfit)};
}

Misfit append_value(const Value& value, const ColumnType& type, Provenance provenance,
                    std::string& out, Lossy lossy) {
    if (is_missing(value)) {
        binary::put32(out, binary::null_length);
        return {};
    }
    const std::size_t start = out.size();
    binary::put32(out, 0);
    const Misfit misfit = append_present(value, type, provenance, lossy, out);
    if (!misfit.empty()) return misfit;
    const std::size_t size = out.size() - start - 4;
    // A field of PostgreSQL holds less than 1 GiB.
    if (size >= 0x3FFFFFFF) return "is too large for PostgreSQL";
    binary::set32(out, start, static_cast<std::uint32_t>(size));
    return {};
}

}  // namespace onceward
