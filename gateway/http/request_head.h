#pragma once
// The head of a request, checked before a parser reads it (RFC 9112). A head that two readers could
// understand differently is refused: a proxy could forward as a body what we would read as the next
// request. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/http/problem.h"

namespace onceward {

class HeadScan {
  public:
    enum class State : std::uint8_t { unfinished, whole, refused };
    // REQUIRES: `bytes` begins with what was passed before. Each byte is read once.
    State look(std::string_view bytes);

    std::size_t begin() const { return begin_; }      // after the empty lines before the request
    ProblemKind problem() const { return problem_; }  // refused: why

  private:
    using Fault = std::optional<ProblemKind>;
    State refuse(ProblemKind problem);
    Fault take_line(std::string_view line);
    Fault take_request_line(std::string_view line);
    Fault take_field(std::string_view line);
    // Checks what only the whole head shows.
    Fault judge() const;
    Fault judge_codings() const;

    std::size_t at_ = 0;  // the next byte to read
    std::size_t begin_ = 0;
    std::size_t line_ = 0;    // where the current line begins
    bool in_fields_ = false;  // the request line was read
    bool http_1_0_ = false;
    int hosts_ = 0;
    int lengths_ = 0;
    std::optional<std::string> codings_;  // of all Transfer-Encoding fields
    ProblemKind problem_ = ProblemKind::malformed_request;
};

// A request's target in two parts. A whole address (RFC 9112, 3.2.2) has both; if the target is
// only a path, the authority is ''.
struct TargetParts {
    std::string authority;
    std::string target;  // path and query
};
// Returns nullopt for a target that is neither a path, nor an http address, nor `*`.
std::optional<TargetParts> parts_of_target(std::string_view target);

// Whether this is a host with or without a port, such as `shop.example:8080`. '' is one.
bool valid_authority(std::string_view text);

}  // namespace onceward
