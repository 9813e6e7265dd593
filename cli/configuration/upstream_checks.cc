#include <algorithm>

#include "cli/configuration/checks.h"
#include "dedup/sink/http_header_rules.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

void check_headers(const UpstreamTarget& upstream, const Section& at) {
    for (const auto& [name, value] : upstream.headers) {
        const bool own = is_of_the_call(name) || is_own_header(name);
        // A content type is the client's.
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
