#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {
namespace {

constexpr std::int64_t longest_limit = 3'600'000;  // an hour

}  // namespace

const std::vector<OptionSpec> http_limit_options = {
    {.path = "http.limits.body",
     .default_text = "1MiB",
     .meaning = "The largest body of a request; a larger one is answered with 413.",
     .cost = "Each connection may hold one in memory.",
     .bind = into_size([](To& to) { return &to.configuration.http.server.limits.body_bytes; }),
     .limits = {1, std::int64_t{1} << 30}},
    {.path = "http.limits.headers",
     .default_text = "16KiB",
     .meaning = "Most bytes of a request's first line and header fields; more is answered with "
                "431, and so are more than 256 fields.",
     .bind = into_size([](To& to) { return &to.configuration.http.server.limits.header_bytes; }),
     .limits = {1024, 1 << 20}},
    {.path = "http.limits.connections",
     .default_text = "1000",
     .meaning = "Most connections at once. Further ones wait in the kernel's queue; for each of "
                "them the connection is closed that has been idle longest, or else one whose "
                "request comes slowly (its head longer than a second, all of it longer than five).",
     .cost = "Each takes a file descriptor, and memory for a request.",
     .bind = into([](To& to) { return &to.configuration.http.server.limits.connections; }),
     .limits = {1, 100'000}},
    {.path = "http.limits.head_time",
     .default_text = "10s",
     .meaning = "How long a request's head (its first line and header fields) may take from its "
                "first byte; a slower one is answered with 408.",
     .cost = "Longer lets slow senders hold connections.",
     .bind = into([](To& to) { return &to.configuration.http.server.limits.head_time; }),
     .limits = {100, longest_limit}},
    {.path = "http.limits.request_time",
     .default_text = "30s",
     .meaning = "How long a request may take from its first byte to its last; a slower one is "
                "answered with 408.",
     .bind = into([](To& to) { return &to.configuration.http.server.limits.request_time; }),
     .limits = {100, longest_limit}},
    {.path = "http.limits.idle_time",
     .default_text = "15s",
     .meaning = "How long a connection may be idle between two requests before it is closed.",
     .cost = "Longer saves clients new connections, and keeps one of `connections` occupied.",
     .bind = into([](To& to) { return &to.configuration.http.server.limits.idle_time; }),
     .limits = {100, longest_limit}},
};

}  // namespace onceward
