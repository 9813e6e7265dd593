#pragma once
// What Client::send() throws. Each error says under which key, after how many attempts, and whether
// the outcome is known. Plain values.

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "clients/cpp/transport.h"

namespace onceward::client {

// A final answer, wholly read.
struct Answer {
    int status = 0;
    Headers headers;
    std::string body;
    bool replayed = false;  // it is of an earlier attempt: `Idempotent-Replayed: true`
    std::string key;
    int attempts = 0;  // of this call
};

// A problem+json document (RFC 9457).
struct Problem {
    std::string type = "about:blank";
    std::string title;
    int status = 0;
    std::string detail;
    std::string document;  // the whole of it, as it came
    // The part after `/onceward/problems/`; another server's whole type; or ''.
    std::string name() const;
};

class Error : public std::runtime_error {
  public:
    Error(const std::string& message, std::string key, int attempts, bool settled)
        : std::runtime_error(message),
          key_(std::move(key)),
          attempts_(attempts),
          settled_(settled) {}
    const std::string& key() const { return key_; }
    int attempts() const { return attempts_; }
    // How the operation ended is known. Where it is not, try again with this key.
    bool settled() const { return settled_; }

  private:
    std::string key_;
    int attempts_;
    bool settled_;
};

// No answer came, as often as it was tried.
class ConnectionFailed final : public Error {
    using Error::Error;
};
// It was stopped while it waited.
class Stopped final : public Error {
    using Error::Error;
};
// The stored operation was another request: nothing was sent. Use another name for it.
class OperationChanged final : public Error {
    using Error::Error;
};
// The stored key is older than servers remember keys: nothing was sent. The operation may have
// taken effect. Find out, then forget() it in the store.
class OperationExpired final : public Error {
    using Error::Error;
};

// An answer of 400 or more; with a problem if its body is problem+json.
class ProblemError : public Error {
  public:
    ProblemError(Answer answer, std::optional<Problem> problem, bool settled);
    const Answer& answer() const { return answer_; }
    const std::optional<Problem>& problem() const { return problem_; }

  private:
    Answer answer_;
    std::optional<Problem> problem_;
};

// 409: an earlier attempt still runs, after as many waits as were allowed.
class KeyInFlight final : public ProblemError {
    using ProblemError::ProblemError;
};
// 422: the key was used before, for another request.
class KeyReused final : public ProblemError {
    using ProblemError::ProblemError;
};
// 422: what the request carries cannot be applied.
class Rejected final : public ProblemError {
    using ProblemError::ProblemError;
};
// 410: it was carried out before; its answer is not kept any more.
class AnswerGone final : public ProblemError {
    using ProblemError::ProblemError;
};
// 400: the key is missing, malformed, or not expected.
class KeyRefused final : public ProblemError {
    using ProblemError::ProblemError;
};
// 401 or 403.
class NotAuthorized final : public ProblemError {
    using ProblemError::ProblemError;
};
// 429, as often as it was tried.
class TooManyRequests final : public ProblemError {
    using ProblemError::ProblemError;
};
// 5xx, as often as it was tried, or stored as the operation's result.
class ServerFailed final : public ProblemError {
    using ProblemError::ProblemError;
};

// Returns nullopt if the answer is not problem+json.
std::optional<Problem> parse_problem(const Answer& answer);
// Throws the error of that answer's kind.
[[noreturn]] void throw_problem(Answer answer, std::optional<Problem> problem, bool settled);

// The value of the header of that name, in any case; '' if there is none. Several are joined by
// commas, as in RFC 9110, 5.3: a caller that needs one value does not accept two.
std::string header_of(const Headers& headers, std::string_view name);

}  // namespace onceward::client
