#include <algorithm>

#include "cli/configuration/checks.h"
#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"
#include "dedup/sink/http_header_rules.h"

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
     "With a shorter value more calls get no answer. A shutdown waits for calls under way."},
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
     "If the upstream, or a gateway before it, also sends such a status after an effect, the "
     "effect may happen twice. A 500, 502 or 504 proves nothing."},
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

namespace {

void check_headers(const UpstreamTarget& upstream, const Section& at) {
    for (const auto& [name, value] : upstream.headers) {
        const bool own = is_of_the_call(name) || is_own_header(name);
        // A content type comes from the client.
        if (!valid_header_name(name) || own) {
            at.error(
                "headers." + name,
                "`" + name + "` is not a header's name, or belongs to the call itself. Remove it.");
        } else {
            check_header_value(value, "headers." + name, at);
        }
    }
    for (const std::string& name : upstream.forwarded) {
        if (same_header(name, "Authorization") || same_header(name, "Cookie") ||
            is_a_proxys_word(name)) {
            continue;
        }
        at.error("forward",
                 "`" + name +
                     "` is neither a credential of the client nor a proxy's header: all others are "
                     "forwarded without being named. Write `[Authorization]`, or remove it.");
    }
}

// `at` is the route.
void check_upstream_ledger(const UpstreamTarget& upstream, const LedgerOptions& ledger,
                           const Section& at) {
    if (ledger.store != StoreKind::lease) {
        at.error(
            at.given_of("ledger.store", "upstream"),
            "An upstream's effects are outside of PostgreSQL. Write `ledger: {store: lease}`.");
        return;
    }
    if (ledger.reach != Reach::global) {
        at.error("ledger.reach", "Requests come in no partitions. Write `reach: global`.");
    }
    check_lease_covers(upstream.timeout, "upstream.timeout", ledger, "process", at);
    check_lease_ends(ledger, at);
    check_ledger(ledger, at);
}

}  // namespace

void check_upstream_route(const RouteConfiguration& route, const LedgerOptions& ledger,
                          const ResultLimits& limits, const Section& at) {
    const UpstreamTarget& upstream = route.upstream;
    const Section call = at.at("upstream");
    at.refuse({"topic", "sink", "forward_headers", "body", "format", "protobuf", "also_publish"},
              "A route has one target, and an upstream takes the request as it is. Keep this or "
              "the `upstream`.");
    at.refuse({"results.cache"},
              "A repeat of a request to an upstream reads its answer each time, together with the "
              "state of the key. Remove it.");
    check_call_address(
        {.url = upstream.url,
         .allow_private = upstream.allow_private,
         .missing = "An upstream needs its address. Write `url: https://example.org`.",
         .advice = "`https://example.org/path`, without a query; a user and a password belong in "
                   "`headers`.",
         .in_clear = "Requests go"},
        call);
    check_headers(upstream, call);
    check_call_files(upstream.ca_file, upstream.allow_private, call);
    check_upstream_ledger(upstream, ledger, at);
    check_kept_headers(limits, at);
    const bool frees_on_success = std::ranges::any_of(
        upstream.free_on, [](int status) { return status < 400 || status > 599; });
    const std::string& method = route.options.pattern.method;
    at.check({
        {frees_on_success, "upstream.free_on",
         "A status that frees a key is a failure: write numbers from 400 to 599, such as `[429, "
         "503]`."},
        {upstream.on_unknown == UpstreamTarget::OnUnknown::release && !upstream.honours_key,
         "upstream.on_unknown",
         "A call that was sent may have taken effect, and a second one takes effect again. Write "
         "`hold`, or `honours_key: true` where the upstream knows the downstream key."},
        {method == "HEAD" || method == "CONNECT", "method",
         "Requests of this method are not forwarded. Write another one."},
    });
}

}  // namespace onceward
