#pragma once
// One value in the binary form that PostgreSQL's column takes. Pure, thread-safe; throws only
// std::bad_alloc. Nothing is lost on the way: a value that does not fit is refused, with a reason
// that quotes nothing of it.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/message/message.h"
#include "sinks/columns/catalog.h"
#include "sinks/columns/column_options.h"

namespace onceward {

// Why a value fits no column of its type; a literal. Empty: it fits.
using Misfit = std::string_view;

// Appends a 32-bit length and the value, or length -1 for NULL (the value is absent or null). After
// a misfit the bytes after the old end of `out` mean nothing.
[[nodiscard]] Misfit append_value(const Value& value, const ColumnType& type, Provenance provenance,
                                  std::string& out);

// `where`: the column, or the member or part of a document.
Rejection unmappable_value(std::string_view where, std::string_view misfit);

}  // namespace onceward

// The families of types that append_value() uses, one file each: numbers, text and JSON, times,
// arrays. Each appends the value's bytes without their length. REQUIRES: the value is neither
// absent nor null. Pure, thread-safe.
namespace onceward::encode {

Misfit whole(const Value& value, TypeKind kind, std::string& out);
Misfit real(const Value& value, TypeKind kind, std::string& out);
Misfit numeric(const Value& value, std::string& out);

Misfit text(const Value& value, const ColumnType& type, std::string& out);
Misfit json(const Value& value, Provenance provenance, std::string& out);
Misfit bytea(const Value& value, Provenance provenance, std::string& out);
Misfit uuid(const Value& value, std::string& out);

Misfit date(const Value& value, std::string& out);
Misfit time_of_day(const Value& value, std::string& out);
Misfit moment(const Value& value, TypeKind kind, std::string& out);

Misfit array(const Value& value, const ColumnType& type, std::string& out);

// Appends a JSON object with the members that have a value. `missing`: what a member lacks that is
// marked `required`. `where`: a member's name in a rejection. `append`: appends the JSON of a value
// that is not null.
template <class Where, class Append>
std::optional<Rejection> object(const std::vector<ColumnOptions>& members,
                                std::span<const Value> values, std::string_view missing,
                                Where where, Append append, std::string& out) {
    const std::size_t start = out.size();
    for (std::size_t i = 0; i < members.size(); ++i) {
        const ColumnOptions& member = members[i];
        if (values[i].kind == Value::Kind::absent) {
            if (!member.required) continue;
            return unmappable_value(where(member), missing);
        }
        out.push_back(out.size() == start ? '{' : ',');
        Misfit misfit = json({Value::Kind::text, {}, member.name}, Provenance::field, out);
        out.push_back(':');
        if (misfit.empty() && values[i].kind == Value::Kind::null) {
            out.append("null");
        } else if (misfit.empty()) {
            misfit = append(member, values[i], out);
        }
        if (!misfit.empty()) return unmappable_value(where(member), misfit);
    }
    out.append(out.size() == start ? "{}" : "}");
    return std::nullopt;
}

// Whether the bytes are text that PostgreSQL takes: UTF-8 without surrogates, and no NUL.
Misfit check_text(std::string_view bytes);

// An integer, natural or real as text.
class NumberText {
  public:
    explicit NumberText(const Value& value);
    std::string_view view() const { return {buffer_.data(), size_}; }

  private:
    std::array<char, 32> buffer_;
    std::size_t size_ = 0;
};

}  // namespace onceward::encode
