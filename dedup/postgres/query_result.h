#pragma once
// The rows that a statement gave back. Move-only, owns its PGresult, not thread-safe; views live as
// long as it does. Reading outside its rows or columns is a bug and aborts.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "dedup/message/digest.h"

struct pg_result;

namespace onceward {

class QueryResult {
  public:
    explicit QueryResult(pg_result* result);
    int rows() const;
    int columns() const;
    // Rows that INSERT, UPDATE, DELETE, SELECT or COPY touched, by the command's tag.
    std::int64_t affected() const;
    // The command's tag, such as `COMMIT`. A COMMIT of a failed transaction says ROLLBACK, without
    // an error.
    std::string_view tag() const;
    bool is_null(int row, int column) const;
    // The text form, or the raw bytes of a binary result.
    std::string_view text(int row, int column) const;
    std::optional<std::string_view> optional_text(int row, int column) const;
    std::int64_t integer(int row, int column) const;  // text results only
    bool boolean(int row, int column) const;          // text results only
    // int2, int4 or int8 of a binary result
    std::int64_t binary_integer(int row, int column) const;
    Digest binary_digest(int row, int column) const;  // uuid of a binary result

  private:
    struct Clear {
        void operator()(pg_result* result) const;
    };
    std::unique_ptr<pg_result, Clear> result_;
};

}  // namespace onceward
