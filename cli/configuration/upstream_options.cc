#include <cstdlib>

#include "cli/configuration/option_table.h"

namespace onceward {
namespace {

using To = OptionTarget;
using In = OptionValue;

const OptionSpec upstream_entries[] = {
    {.path = "http.routes[].upstream.url",
     .type = OptionType::secret,
     .meaning = "An existing service: requests are forwarded to this address, with their path and "
                "query appended, with an `Idempotency-Key` derived from the client's key, the same "
                "on each try. With `ledger: {store: lease}` alone. 2xx, 3xx and 4xx are final, "
                "stored and replayed; 408, 425, 429, 503 and a failed connection free the key (see "
                "`free_on`). No redirect is followed, no proxy asked.",
     .cost = "A call that was sent and not answered may have taken effect: see `on_unknown`.",
     .bind =
         [](To& to, const In& value) {
             std::string url = value.text;
             while (url.ends_with('/')) url.pop_back();
             to.route->upstream.url = Secret(std::move(url));
         }},
    {.path = "http.routes[].upstream.timeout",
     .type = OptionType::duration,
     .default_text = "10s",
     .meaning = "The time-out of one call, to the answer's last byte. Half of `ledger.lease` at "
                "most.",
     .cost = "Shorter leaves more calls without an answer. A shutdown waits for calls under way.",
     .bind = [](To& to, const In& value) { to.route->upstream.timeout = value.duration; },
     .minimum = 10,
     .maximum = 600'000},
    {.path = "http.routes[].upstream.honours_key",
     .type = OptionType::choice,
     .default_text = "false",
     .meaning = "Whether the upstream makes one effect of two calls with the same "
                "`Idempotency-Key`. With `true` a key whose call got no answer, or whose process "
                "was killed, is called again once its lease has ended; with `false` it stays in "
                "doubt (409 `outcome-unknown`) until `onceward forget` frees it.",
     .cost = "`true` for an upstream that does not: an effect may happen twice.",
     .bind = [](To& to, const In& value) { to.route->upstream.honours_key = value.choice == 1; },
     .choices = {"false", "true"}},
    {.path = "http.routes[].upstream.free_on",
     .type = OptionType::texts,
     .default_text = "<[408, 425, 429, 503]>",
     .meaning = "Statuses from 400 to 599 with which the upstream says that nothing happened. They "
                "free the key: the next request with it calls again. With `honours_key: false` "
                "any other 5xx leaves the key in doubt, as a call without an answer does. With "
                "`honours_key: true` any 5xx, 408, 425 and 429 frees it.",
     .cost = "A status that the upstream, or a gateway before it, also sends after an effect: the "
             "effect may happen twice. A 500, 502 or 504 proves nothing.",
     .bind =
         [](To& to, const In& value) {
             to.route->upstream.free_on.clear();
             for (const std::string& text : value.texts) {
                 const long status = std::strtol(text.c_str(), nullptr, 10);
                 to.route->upstream.free_on.push_back(static_cast<int>(status));
             }
         }},
    {.path = "http.routes[].upstream.on_unknown",
     .type = OptionType::choice,
     .default_text = "hold",
     .meaning =
         "What to do after a call that was sent and not answered, or answered with a failure that "
         "does not free the key: `hold` keeps the key until the lease's end; `release` frees it at "
         "once, for an upstream with `honours_key: true` alone.",
     .cost = "`hold`: its client waits for up to a lease. `release`: a second call may run at the "
             "same time as "
             "the first one.",
     .bind =
         [](To& to, const In& value) {
             to.route->upstream.on_unknown = static_cast<UpstreamTarget::OnUnknown>(value.choice);
         },
     .choices = {"hold", "release"}},
    {.path = "http.routes[].upstream.concurrency",
     .type = OptionType::integer,
     .default_text = "8",
     .meaning =
         "Calls under way at once, of each process; further requests wait, for 30 seconds at "
         "most.",
     .cost = "Each takes a thread and a session with PostgreSQL.",
     .bind =
         [](To& to, const In& value) {
             to.route->upstream.concurrency = static_cast<std::size_t>(value.integer);
         },
     .minimum = 1,
     .maximum = 200},
    {.path = "http.routes[].upstream.headers",
     .type = OptionType::headers,
     .meaning = "Headers of each call, in place of the client's, such as `Authorization: Bearer "
                "${TOKEN}`. The client's own are forwarded too, except for those of one hop, "
                "`Host`, `Forwarded` and its like, `Accept-Encoding`, its key and its credentials.",
     .bind =
         [](To& to, const In& value) {
             to.route->upstream.headers.assign(value.properties.begin(), value.properties.end());
         }},
    {.path = "http.routes[].upstream.forward",
     .type = OptionType::texts,
     .meaning = "Headers of the client that are forwarded only if named here: its credentials, "
                "`[Authorization]` and `[Cookie]`, and headers that are trusted as a proxy's, such "
                "as `[X-Forwarded-For]`.",
     .cost = "The upstream gets a token that was made for this front door, or trusts a client if "
             "no proxy of yours sets the header.",
     .bind = [](To& to, const In& value) { to.route->upstream.forwarded = value.texts; }},
    {.path = "http.routes[].upstream.allow_private",
     .type = OptionType::texts,
     .meaning = "Networks that may be called though they are not public, such as `[10.1.0.0/16, "
                "\"::1\"]`. Others are refused when the connection is made.",
     .cost = "The upstream's name may then lead to any address in these networks.",
     .bind = [](To& to, const In& value) { to.route->upstream.allow_private = value.texts; }},
    {.path = "http.routes[].upstream.ca_file",
     .meaning = "A file of PEM certificates to trust in place of the system's; relative to this "
                "configuration's folder.",
     .bind = [](To& to, const In& value) { to.route->upstream.ca_file = value.text; }},
};

}  // namespace

std::vector<OptionSpec> upstream_options() {
    return {std::begin(upstream_entries), std::end(upstream_entries)};
}

}  // namespace onceward
