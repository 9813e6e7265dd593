// What calls to a webhook and to an upstream have in common, and the leases that cover them.

#include <algorithm>

#include "cli/configuration/checks.h"
#include "cli/configuration/units.h"
#include "dedup/sink/http_header_rules.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

// Whether a call there may be allowed, judged by the address alone: a name may mean any address.
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

}  // namespace

void check_call_address(const CallTarget& target, const Section& at) {
    if (!at.given("url")) return at.error("", target.missing);
    if (!at.known("url")) return;
    const std::string& url = target.url.reveal();
    const auto address = call_address(url);
    if (!address || (!target.with_query && url.find_first_of("?#") != std::string::npos)) {
        at.error("url",
                 "This is not an address to call (not shown, because it may hold a token). Write " +
                     std::string(target.advice));
        return;
    }
    const auto network = parse_network(address->host);
    const bool near = address->host == "localhost" || (network && is_special(network->address));
    if (near && !may_reach(address->host, target.allow_private)) {
        at.error("url",
                 "This address is not public, and each call to it would be refused. Name its "
                 "network in `allow_private`, or write another address.");
    }
    if (!address->tls && !near) {
        at.warning("url", std::string(target.in_clear) +
                              " over the network in clear, and anyone on the path could answer. "
                              "Write `https://`.");
    }
}

void check_call_files(const std::string& ca_file, const std::vector<std::string>& allow_private,
                      const Section& at) {
    if (!ca_file.empty()) check_file(ca_file, "ca_file", at);
    for (const std::string& text : allow_private) {
        if (parse_network(text)) continue;
        at.error("allow_private",
                 "`" + text + "` is not a network. Write one such as `10.1.0.0/16` or `::1`.");
    }
}

void check_header_value(const Secret& value, const std::string& option, const Section& at) {
    if (valid_header_value(value.reveal())) return;
    at.error(option,
             "This value (not shown) cannot be in a header: it has a line end or another control "
             "character.");
}

void check_lease_covers(std::chrono::milliseconds call, const std::string& timeout,
                        const LedgerOptions& ledger, const std::string& another,
                        const Section& at) {
    if (call * 2 <= ledger.lease) return;
    at.error(at.given_of(timeout, "ledger.lease"),
             "A call may take " + duration_text(call) + ", and the lease ends after " +
                 duration_text(ledger.lease) + ": it must be at least twice as long, or another " +
                 another + " may call at the same time. Lower the first or raise the second.");
}

void check_lease_ends(const LedgerOptions& ledger, const Section& at) {
    if (ledger.lease < ledger.retention) return;
    at.error(at.given_of("ledger.lease", "ledger.retention"),
             "A lease of " + duration_text(ledger.lease) + " does not end within the retention (" +
                 duration_text(ledger.retention) + "). Lower the first or raise the second.");
}

void check_lease(const TopicConfiguration& topic, const LedgerOptions& ledger, const Section& at) {
    if (ledger.store != StoreKind::lease) {
        at.refuse({"ledger.lease"},
                  "Only `store: lease` has leases. Remove this, or write `store: lease`.");
        return;
    }
    at.check({
        {!std::holds_alternative<WebhookOptions>(topic.sink), "ledger.store",
         "`store: lease` is for effects outside of PostgreSQL: a table's rows go with their claims "
         "in one transaction. Write `store: table` or `store: log`, or a `webhook`."},
        {ledger.reach != Reach::global, "ledger.reach",
         "The `lease` store always finds duplicates everywhere. Write `reach: global`."},
    });
    check_lease_ends(ledger, at);
}

}  // namespace onceward
