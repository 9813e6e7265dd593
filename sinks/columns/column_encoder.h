#pragma once
// One value in the binary form that PostgreSQL's column takes. Pure, thread-safe; throws only
// std::bad_alloc. Nothing is lost on the way unless the column allows it: a value that does not fit
// is refused, with a reason that quotes nothing of it. Rounding to real or double precision is no
// loss in this sense: the nearest value is what these types are for.

#include <array>
#include <string>
#include <string_view>

#include "dedup/message/message.h"
#include "sinks/columns/catalog.h"
#include "sinks/columns/lossy.h"

namespace onceward {

// Why a value fits no column of its type; a literal. Empty: it fits.
using Misfit = std::string_view;

// Appends a 32-bit length and the value, or length -1 for NULL (the value is absent or null). After
// a misfit the bytes after the old end of `out` mean nothing.
[[nodiscard]] Misfit append_value(const Value& value, const ColumnType& type, Provenance provenance,
                                  std::string& out, Lossy lossy = Lossy::refuse);

// `where`: the column, or the member or part of a document.
Rejection unmappable_value(std::string_view where, std::string_view misfit);

}  // namespace onceward

// The families of types that append_value() uses, one file each: numbers, text and JSON, times,
// arrays. Each appends the value's bytes without their length. REQUIRES: the value is neither
// absent nor null. Pure, thread-safe.
namespace onceward::encode {

Misfit whole(const Value& value, TypeKind kind, Lossy lossy, std::string& out);
Misfit real(const Value& value, TypeKind kind, std::string& out);
Misfit numeric(const Value& value, const ColumnType& type, Lossy lossy, std::string& out);

Misfit text(const Value& value, const ColumnType& type, std::string& out);
Misfit json(const Value& value, Provenance provenance, std::string& out);
Misfit bytea(const Value& value, Provenance provenance, std::string& out);
Misfit uuid(const Value& value, std::string& out);

Misfit date(const Value& value, std::string& out);
Misfit time_of_day(const Value& value, const ColumnType& type, Lossy lossy, std::string& out);
Misfit moment(const Value& value, const ColumnType& type, Lossy lossy, std::string& out);

Misfit array(const Value& value, const ColumnType& type, Lossy lossy, std::string& out);

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
