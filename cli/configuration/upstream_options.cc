#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> upstream_options = {
    {.path = "http.routes[].upstream.url",
     .meaning = "An existing service: requests are forwarded to this address, with their path and "
                "query appended, with an `Idempotency-Key` derived from the client's key, the same "
                "on each try. With `ledger: {store: lease}` alone. 2xx, 3xx and 4xx are final, "
                "stored and replayed; 408, 425, 429, 503 and a failed connection free the key (see "
                "`free_on`). No redirect is followed, no proxy asked.",
     .cost = "A call that was sent and not answered may have taken effect: see `on_unknown`.",
     .bind = {OptionType::secret,
              [](To& to, const In& value) {
                  std::string url = std::get<std::string>(value);
                  while (url.ends_with('/')) url.pop_back();
                  to.route->upstream.url = Secret(std::move(url));
              }}},
    {.path = "http.routes[].upstream.timeout",
     .default_text = "10s",
     .meaning = "The time-out of one call, to the answer's last byte. Half of `ledger.lease` at "
                "most.",
     .cost = "Shorter leaves more calls without an answer. A shutdown waits for calls under way.",
     .bind = into([](To& to) { return &to.route->upstream.timeout; }),
     .limits = {10, 600'000}},
    {.path = "http.routes[].upstream.honours_key",
     .default_text = "false",
     .meaning = "Whether the upstream makes one effect of two calls with the same "
                "`Idempotency-Key`. With `true` a key whose call got no answer, or whose process "
                "was killed, is called again once its lease has ended; with `false` it stays in "
                "doubt (409 `outcome-unknown`) until `onceward forget` frees it.",
     .cost = "`true` for an upstream that does not: an effect may happen twice.",
     .bind = into([](To& to) { return &to.route->upstream.honours_key; }),
     .choices = {"false", "true"}},
    {.path = "http.routes[].upstream.free_on",
     .default_text = "<[408, 425, 429, 503]>",
     .meaning = "Statuses from 400 to 599 with which the upstream says that nothing happened. They "
                "free the key: the next request with it calls again. With `honours_key: false` "
                "any other 5xx leaves the key in doubt, as a call without an answer does. With "
                "`honours_key: true` any 5xx, 408, 425 and 429 frees it.",
     .cost = "A status that the upstream, or a gateway before it, also sends after an effect: the "
             "effect may happen twice. A 500, 502 or 504 proves nothing.",
     .bind = into([](To& to) { return &to.route->upstream.free_on; })},
    {.path = "http.routes[].upstream.on_unknown",
     .default_text = "hold",
     .meaning =
         "What to do after a call that was sent and not answered, or answered with a failure that "
         "does not free the key: `hold` keeps the key until the lease's end; `release` frees it at "
         "once, for an upstream with `honours_key: true` alone.",
     .cost = "`hold`: its client waits for up to a lease. `release`: a second call may run at the "
             "same time as the first one.",
     .bind = into([](To& to) { return &to.route->upstream.on_unknown; }),
     .choices = {"hold", "release"}},
    {.path = "http.routes[].upstream.concurrency",
     .default_text = "8",
     .meaning =
         "Calls under way at once, of each process; further requests wait, for 30 seconds at most.",
     .cost = "Each takes a thread and a session with PostgreSQL.",
     .bind = into([](To& to) { return &to.route->upstream.concurrency; }),
     .limits = {1, 200}},
    {.path = "http.routes[].upstream.headers",
     .meaning = "Headers of each call, in place of the client's, such as `Authorization: Bearer "
                "${TOKEN}`. The client's own are forwarded too, except for those of one hop, "
                "`Host`, `Forwarded` and its like, `Accept-Encoding`, its key and its credentials.",
     .bind = into([](To& to) { return &to.route->upstream.headers; })},
    {.path = "http.routes[].upstream.forward",
     .meaning = "Headers of the client that are forwarded only if named here: its credentials, "
                "`[Authorization]` and `[Cookie]`, and headers that are trusted as a proxy's, such "
                "as `[X-Forwarded-For]`.",
     .cost = "The upstream gets a token that was made for this front door, or trusts a client if "
             "no proxy of yours sets the header.",
     .bind = into([](To& to) { return &to.route->upstream.forwarded; })},
    {.path = "http.routes[].upstream.allow_private",
     .meaning = "Networks that may be called though they are not public, such as `[10.1.0.0/16, "
                "\"::1\"]`. Others are refused when the connection is made.",
     .cost = "The upstream's name may then lead to any address in these networks.",
     .bind = into([](To& to) { return &to.route->upstream.allow_private; })},
    {.path = "http.routes[].upstream.ca_file",
     .meaning = "A file of PEM certificates to trust in place of the system's; relative to this "
                "configuration's folder.",
     .bind = into([](To& to) { return &to.route->upstream.ca_file; })},
};

}  // namespace onceward
