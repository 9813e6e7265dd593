#include <algorithm>
#include <filesystem>

#include "cli/configuration/checks.h"
#include "cli/configuration/units.h"
#include "dedup/sink/http_header_rules.h"
#include "sinks/webhook/addresses.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

void check_upstream_url(const UpstreamTarget& upstream, const std::string& path, Report& report) {
    if (!report.given(path + ".url")) {
        report.error_at(path, "An upstream needs its address. Write `url: https://example.org`.");
        return;
    }
    if (!report.known(path + ".url")) return;
    const std::string& url = upstream.url.reveal();
    const auto address = call_address(url);
    if (!address || url.find_first_of("?#") != std::string::npos) {
        report.error_at(path + ".url",
                        "This is not an address to call (not shown, because it may hold a token). "
                        "Write `https://example.org/path`, without a query; a user and a password "
                        "belong in `headers`.");
        return;
    }
    const auto network = parse_network(address->host);
    const bool near = address->host == "localhost" || (network && is_special(network->address));
    if (near && !may_reach(address->host, upstream.allow_private)) {
        report.error_at(path + ".url",
                        "This address is not public, and each call to it would be refused. Name "
                        "its network in `allow_private`, or write another address.");
    }
    if (!address->tls && !near) {
        report.warning_at(path + ".url",
                          "Requests go over the network in clear, and anyone on the path could "
                          "answer. Write `https://`.");
    }
}

}  // namespace

bool may_reach(const std::string& host, const std::vector<std::string>& allow_private) {
    std::vector<Network> allowed;
    for (const std::string& text : allow_private) {
        if (const auto network = parse_network(text)) allowed.push_back(*network);
    }
    // What the name means on nearly every machine.
    const std::vector<std::string> meant =
        host == "localhost" ? std::vector<std::string>{"127.0.0.1", "::1"} : std::vector{host};
    return std::ranges::any_of(meant, [&](const std::string& text) {
        const auto address = parse_network(text);
        return !address || may_be_called(address->address, allowed);
    });
}

namespace {

void check_upstream_headers(const UpstreamTarget& upstream, const std::string& path,
                            Report& report) {
    for (const auto& [name, value] : upstream.headers) {
        const std::string where = path + ".headers." + name;
        const bool own = is_of_the_call(name) || is_own_header(name);
        // A content type is the client's.
        if (!valid_header_name(name) || own) {
            report.error_at(where, "`" + name +
                                       "` is not a header's name, or belongs to the call itself. "
                                       "Remove it.");
        } else if (!valid_header_value(value.reveal())) {
            report.error_at(where,
                            "This value (not shown) cannot be in a header: it has a line end or "
                            "another control character.");
        }
    }
    for (const std::string& name : upstream.forwarded) {
        if (same_header(name, "Authorization") || same_header(name, "Cookie") ||
            is_a_proxys_word(name)) {
            continue;
        }
        report.error_at(path + ".forward",
                        "`" + name +
                            "` is neither a credential of the client nor a proxy's header: all "
                            "others are forwarded without being named. Write `[Authorization]`, or "
                            "remove it.");
    }
}

void check_upstream_lease(const UpstreamTarget& upstream, const LedgerOptions& ledger,
                          const std::string& route_path, Report& report) {
    const std::string path = route_path + ".ledger";
    if (ledger.store != StoreKind::lease) {
        report.error_at(report.given(path + ".store") ? path + ".store" : route_path + ".upstream",
                        "An upstream's effects are outside of PostgreSQL. Write `ledger: {store: "
                        "lease}`.");
        return;
    }
    if (ledger.reach != Reach::global) {
        report.error_at(path + ".reach", "Requests come in no partitions. Write `reach: global`.");
    }
    if (upstream.timeout * 2 > ledger.lease) {
        const std::string call = route_path + ".upstream.timeout";
        report.error_at(
            report.given(call) ? call : path + ".lease",
            "A call may take " + duration_text(upstream.timeout) + ", and the lease ends after " +
                duration_text(ledger.lease) +
                ": it must be at least twice as long, or another process may call at the same "
                "time. Lower the first or raise the second.");
    }
    if (ledger.lease >= ledger.retention) {
        report.error_at(
            report.given(path + ".lease") ? path + ".lease" : path + ".retention",
            "A lease of " + duration_text(ledger.lease) + " does not end within the retention (" +
                duration_text(ledger.retention) + "). Lower the first or raise the second.");
    }
    check_ledger(ledger, route_path, report);
}

void check_upstream_files(const UpstreamTarget& upstream, const std::string& path, Report& report) {
    std::error_code ignored;
    if (!upstream.ca_file.empty() && !std::filesystem::is_regular_file(upstream.ca_file, ignored)) {
        report.error_at(path + ".ca_file", "There is no file " + upstream.ca_file +
                                               ". Paths start at this configuration's folder.");
    }
    for (const std::string& text : upstream.allow_private) {
        if (parse_network(text)) continue;
        report.error_at(path + ".allow_private",
                        "`" + text + "` is not a network. Write one such as `10.1.0.0/16` or "
                                     "`::1`.");
    }
}

}  // namespace

void check_upstream_route(const RouteConfiguration& route, const LedgerOptions& ledger,
                          const ResultLimits& limits, Report& report) {
    const std::string path = route.path + ".upstream";
    for (const char* other :
         {"topic", "sink", "forward_headers", "body", "format", "protobuf", "also_publish"}) {
        const std::string given = route.path + "." + other;
        if (!report.given(given)) continue;
        report.error_at(given,
                        "A route has one target, and an upstream takes the request as it is. Keep "
                        "this or the `upstream`.");
    }
    check_upstream_url(route.upstream, path, report);
    check_upstream_headers(route.upstream, path, report);
    check_upstream_files(route.upstream, path, report);
    check_upstream_lease(route.upstream, ledger, route.path, report);
    check_kept_headers(limits, route.path, report);
    for (const int status : route.upstream.free_on) {
        if (status >= 400 && status <= 599) continue;
        report.error_at(path + ".free_on",
                        "A status that frees a key is a failure: write numbers from 400 to 599, "
                        "such as `[429, 503]`.");
        break;
    }
    if (route.upstream.on_unknown == UpstreamTarget::OnUnknown::release &&
        !route.upstream.honours_key) {
        report.error_at(path + ".on_unknown",
                        "A call that was sent may have taken effect, and a second one takes effect "
                        "again. Write `hold`, or `honours_key: true` where the upstream knows the "
                        "downstream key.");
    }
    if (route.options.pattern.method == "HEAD" || route.options.pattern.method == "CONNECT") {
        report.error_at(route.path + ".method",
                        "Requests of this method are not forwarded. Write another one.");
    }
}

}  // namespace onceward
