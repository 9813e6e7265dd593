#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {
namespace {

constexpr std::int64_t longest_limit = 3'600'000;  // an hour

}  // namespace

const std::vector<OptionSpec> http_limit_options = {
    {"http.limits.body", "1MiB",
     into_size([](To& to) { return &to.configuration.http.server.limits.body_bytes; },
               {1, std::int64_t{1} << 30}),
     "The largest body of a request; a larger one is answered with 413.",
     "Each connection may hold one in memory."},
    {"http.limits.headers", "16KiB",
     into_size([](To& to) { return &to.configuration.http.server.limits.header_bytes; },
               {1024, 1 << 20}),
     "Most bytes of a request's first line and header fields; more is answered with 431, and so "
     "are more than 256 fields."},
    {"http.limits.connections", "1000",
     into([](To& to) { return &to.configuration.http.server.limits.connections; }, {1, 100'000}),
     "Most connections at once. Further ones wait in the kernel's queue; for each of them the "
     "connection is closed that has been idle longest, or else one whose request comes slowly (its "
     "head longer than a second, all of it longer than five).",
     "Each takes a file descriptor, and memory for a request."},
    {"http.limits.head_time", "10s",
     into([](To& to) { return &to.configuration.http.server.limits.head_time; },
          {100, longest_limit}),
     "How long a request's head (its first line and header fields) may take from its first byte; a "
     "slower one is answered with 408.",
     "Longer lets slow senders hold connections."},
    {"http.limits.request_time", "30s",
     into([](To& to) { return &to.configuration.http.server.limits.request_time; },
          {100, longest_limit}),
     "How long a request may take from its first byte to its last; a slower one is answered with "
     "408."},
    {"http.limits.idle_time", "15s",
     into([](To& to) { return &to.configuration.http.server.limits.idle_time; },
          {100, longest_limit}),
     "How long a connection may be idle between two requests before it is closed.",
     "Longer saves clients new connections, and keeps one of `connections` occupied."},
};

}  // namespace onceward
