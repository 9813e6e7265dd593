#pragma once
// What a sink answers for one message; stored with its claim, replayed to its duplicates. Plain
// values and pure rules, thread-safe; headers_from_json() throws std::runtime_error.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onceward {

using ResultHeaders = std::vector<std::pair<std::string, std::string>>;

struct MessageResult {
    // failed: a permanent failure, which is replayed too. A transient one is no result.
    enum class Kind : std::uint8_t { done, failed } kind = Kind::done;
    int status = 0;           // HTTP's; 0 if there is none
    ResultHeaders headers{};  // already through kept_headers()
    std::string body{};       // bytes
    friend bool operator==(const MessageResult&, const MessageResult&) = default;
};
std::string_view to_text(MessageResult::Kind kind);

// What is kept of a result. Rows are read again for each replay: larger ones cost disk, memory and
// time there.
struct ResultLimits {
    // Most bytes of headers and body.
    std::size_t max_bytes = 64 * 1024;
    // What happens beyond that. drop_body: the effect lands, and body and headers are left out of
    // the first answer and of all replays. reject: nothing of the message lands, it goes to the
    // dead letters.
    enum class TooLarge : std::uint8_t { drop_body, reject } on_too_large = TooLarge::drop_body;
    // The headers that are kept, whatever their case.
    std::vector<std::string> headers = default_headers();
    static std::vector<std::string> default_headers();
};

// The headers that the list allows, in lower case and in their order. A header is left out if a
// Connection header names it, or if its name or value could end its line.
ResultHeaders kept_headers(const ResultHeaders& headers, std::span<const std::string> allowed);

// Takes the place of a body that was dropped; its value is the body's number of bytes.
inline constexpr std::string_view dropped_header = "onceward-body-dropped";

// The result as it is stored and replayed; nullopt if it is too large and the policy rejects it.
std::optional<MessageResult> storable(MessageResult result, const ResultLimits& limits);

// As the column `headers` has them. Invalid UTF-8 is replaced.
std::string headers_json(const ResultHeaders& headers);
// Reads such a list, or an object from name to value.
ResultHeaders headers_from_json(std::string_view json);

}  // namespace onceward
