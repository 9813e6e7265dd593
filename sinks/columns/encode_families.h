#pragma once
// The families of types that append_value() uses, one file each: numbers, text and JSON, times,
// arrays. Each appends the value's bytes without their length. REQUIRES: the value is neither
// absent nor null. Pure, thread-safe.

#include <array>
#include <string>
#include <string_view>

#include "sinks/columns/column_encoder.h"

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
