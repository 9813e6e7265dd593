#pragma once
// A request and its answer as the front door sees them, apart from any server library. Plain
// values; the functions are pure.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onceward {

// Name and value, in the order in which they came; names may repeat.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
    std::string method;  // as it was sent: methods are case-sensitive
    std::string target;  // path and query, as they were sent
    HttpHeaders headers;
    std::string body;
    std::string address{};  // the peer's
    // The subject of the certificate that the peer has shown, if a trusted authority has signed it,
    // as RFC 2253 writes it; else ''.
    std::string certificate{};
};

struct HttpResponse {
    int status = 200;
    HttpHeaders headers{};
    std::string body{};
    bool replayed = false;  // an earlier request's answer, for counts and logs; not sent
};

// The values of all headers of that name, in their order, without the white space around them.
std::vector<std::string_view> values_of(const HttpHeaders& headers, std::string_view name);

// The value of the only header of that name; nullopt if there is none, or more than one.
std::optional<std::string_view> only_value(const HttpHeaders& headers, std::string_view name);

// The part of a request's target before the `?`.
std::string_view path_of(std::string_view target);

// `%41` to `A`; nullopt if a `%` is not followed by two hex digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace onceward
