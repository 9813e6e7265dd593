#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> upstream_options = {
    {"http.routes[].upstream.url",
     "",
     {OptionType::secret,
      [](To& to, const In& value) {
          std::string url = std::get<std::string>(value);
          while (url.ends_with('/')) url.pop_back();
          to.route->upstream.url = Secret(std::move(url));
      }},
     "An existing service: requests are forwarded to this address, with their path and query "
     "appended, with an `Idempotency-Key` derived from the client's key, the same on each try. "
     "With `ledger: {store: lease}` alone. 2xx, 3xx and 4xx are final, stored and replayed; 408, "
     "425, 429, 503 and a failed connection free the key (see `free_on`). No redirect is followed, "
     "no proxy asked.",
     "A call that was sent and not answered may have taken effect: see `on_unknown`."},
    {"http.routes[].upstream.timeout", "10s",
     into([](To& to) { return &to.route->upstream.timeout; }, {10, 600'000}),
     "The time-out of one call, to the answer's last byte. Half of `ledger.lease` at most.",
     "Shorter leaves more calls without an answer. A shutdown waits for calls under way."},
    {"http.routes[].upstream.honours_key", "false",
     into([](To& to) { return &to.route->upstream.honours_key; }, {"false", "true"}),
     "Whether the upstream makes one effect of two calls with the same `Idempotency-Key`. With "
     "`true` a key whose call got no answer, or whose process was killed, is called again once its "
     "lease has ended; with `false` it stays in doubt (409 `outcome-unknown`) until `onceward "
     "forget` frees it.",
     "`true` for an upstream that does not: an effect may happen twice."},
    {"http.routes[].upstream.free_on", "<[408, 425, 429, 503]>",
     into([](To& to) { return &to.route->upstream.free_on; }),
     "Statuses from 400 to 599 with which the upstream says that nothing happened. They free the "
     "key: the next request with it calls again. With `honours_key: false` any other 5xx leaves "
     "the key in doubt, as a call without an answer does. With `honours_key: true` any 5xx, 408, "
     "425 and 429 frees it.",
     "A status that the upstream, or a gateway before it, also sends after an effect: the effect "
     "may happen twice. A 500, 502 or 504 proves nothing."},
    {"http.routes[].upstream.on_unknown", "hold",
     into([](To& to) { return &to.route->upstream.on_unknown; }, {"hold", "release"}),
     "What to do after a call that was sent and not answered, or answered with a failure that does "
     "not free the key: `hold` keeps the key until the lease's end; `release` frees it at once, "
     "for an upstream with `honours_key: true` alone.",
     "`hold`: its client waits for up to a lease. `release`: a second call may run at the same "
     "time as the first one."},
    {"http.routes[].upstream.concurrency", "8",
     into([](To& to) { return &to.route->upstream.concurrency; }, {1, 200}),
     "Calls under way at once, of each process; further requests wait, for 30 seconds at most.",
     "Each takes a thread and a session with PostgreSQL."},
    {"http.routes[].upstream.headers", "", into([](To& to) { return &to.route->upstream.headers; }),
     "Headers of each call, in place of the client's, such as `Authorization: Bearer ${TOKEN}`. "
     "The client's own are forwarded too, except for those of one hop, `Host`, `Forwarded` and its "
     "like, `Accept-Encoding`, its key and its credentials."},
    {"http.routes[].upstream.forward", "",
     into([](To& to) { return &to.route->upstream.forwarded; }),
     "Headers of the client that are forwarded only if named here: its credentials, "
     "`[Authorization]` and `[Cookie]`, and headers that are trusted as a proxy's, such as "
     "`[X-Forwarded-For]`.",
     "The upstream gets a token that was made for this front door, or trusts a client if no proxy "
     "of yours sets the header."},
    {"http.routes[].upstream.allow_private", "",
     into([](To& to) { return &to.route->upstream.allow_private; }),
     "Networks that may be called though they are not public, such as `[10.1.0.0/16, \"::1\"]`. "
     "Others are refused when the connection is made.",
     "The upstream's name may then lead to any address in these networks."},
    {"http.routes[].upstream.ca_file", "", into([](To& to) { return &to.route->upstream.ca_file; }),
     "A file of PEM certificates to trust in place of the system's; relative to this "
     "configuration's folder."},
};

}  // namespace onceward
