#include <algorithm>
#include <filesystem>

#include "cli/configuration/checks.h"
#include "cli/configuration/units.h"
#include "dedup/sink/http_header_rules.h"
#include "sinks/webhook/addresses.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

void check_url(const WebhookOptions& webhook, const std::string& path, Report& report) {
    if (!report.given(path + ".url")) {
        report.error_at(path, "A webhook needs its address. Write `url: https://example.org/...`.");
        return;
    }
    if (!report.known(path + ".url")) return;
    const auto address = call_address(webhook.url.reveal());
    if (!address) {
        report.error_at(path + ".url",
                        "This is not an address to call (not shown, because it may hold a token). "
                        "Write `https://example.org/path`; a user and a password belong in "
                        "`headers`.");
        return;
    }
    const auto network = parse_network(address->host);
    const bool near = address->host == "localhost" || (network && is_special(network->address));
    if (near && !may_reach(address->host, webhook.allow_private)) {
        report.error_at(path + ".url",
                        "This address is not public, and each call to it would be refused. Name "
                        "its network in `allow_private`, or write another address.");
    }
    if (!address->tls && !near) {
        report.warning_at(
            path + ".url",
            "Messages go over the network in clear, and anyone on the path could answer. Write "
            "`https://`.");
    }
}

void check_header(const std::string& name, const std::string& path, Report& report) {
    if (!valid_header_name(name)) {
        report.error_at(
            path, "`" + name + "` is not a header's name (letters, digits, `-` and a few others).");
    } else if (is_of_the_call(name)) {
        report.error_at(path, "`" + name +
                                  "` belongs to the call itself. Remove it; `content_type` is an "
                                  "option of its own.");
    }
}

void check_headers(const WebhookOptions& webhook, const std::string& path, Report& report) {
    std::vector<std::string> names;
    const auto once = [&](const std::string& name, const std::string& where) {
        const bool twice = std::ranges::any_of(
            names, [&](const std::string& other) { return same_header(other, name); });
        if (twice) {
            report.error_at(where, "The header `" + name + "` is there twice. Keep one of them.");
        }
        names.push_back(name);
    };
    check_header(webhook.key_header, path + ".key_header", report);
    once(webhook.key_header, path + ".key_header");
    if (!webhook.sign_secret.empty()) {
        check_header(webhook.sign_header, path + ".sign.header", report);
        once(webhook.sign_header, path + ".sign.header");
    } else if (report.given(path + ".sign")) {
        report.error_at(path + ".sign.secret",
                        "Without a secret nothing is signed. Write `secret: ${NAME}`.");
    }
    if (!valid_header_value(webhook.content_type)) {
        report.error_at(path + ".content_type", "This cannot be in a header.");
    }
    for (const auto& [name, value] : webhook.headers) {
        const std::string where = path + ".headers." + name;
        check_header(name, where, report);
        once(name, where);
        if (!valid_header_value(value.reveal())) {
            report.error_at(where,
                            "This value (not shown) cannot be in a header: it has a line end or "
                            "another control character.");
        }
    }
}

void check_files_and_lists(const WebhookOptions& webhook, const std::string& path, Report& report) {
    if (!webhook.ca_file.empty() && !std::filesystem::is_regular_file(webhook.ca_file)) {
        report.error_at(path + ".ca_file", "There is no file " + webhook.ca_file +
                                               ". Paths start at this configuration's folder.");
    }
    for (const std::string& text : webhook.allow_private) {
        if (parse_network(text)) continue;
        report.error_at(path + ".allow_private",
                        "`" + text + "` is not a network. Write one such as `10.1.0.0/16` or "
                                     "`::1`.");
    }
    for (const int status : webhook.retry_on) {
        if (status >= 400 && status < 500) continue;
        report.error_at(path + ".retry_on",
                        "Statuses here are from 400 to 499, such as `[409]`; 5xx are tried again "
                        "without being named.");
    }
}

}  // namespace

void check_webhook(const TopicConfiguration& topic, const WebhookOptions& webhook,
                   const LedgerOptions& ledger, const std::string& topic_path, Report& report) {
    const std::string path = topic_path + ".sink.webhook";
    check_url(webhook, path, report);
    check_headers(webhook, path, report);
    check_files_and_lists(webhook, path, report);
    for (const char* other : {"table", "columns", "mode", "conflict_target", "only_if_newer",
                              "transport", "function", "outbox"}) {
        if (!report.given(topic_path + ".sink." + other)) continue;
        report.error_at(topic_path + ".sink." + other,
                        "A topic has one sink. Keep this or the `webhook`.");
    }
    if (report.given(topic_path + ".also_publish")) {
        report.error_at(topic_path + ".also_publish",
                        "A webhook's effects are not in a transaction that could include a record. "
                        "Write `reply`, or give the other topic a consumer of its own.");
    }
    if (ledger.store != StoreKind::lease) {
        report.error_at(topic_path + ".ledger.store",
                        "A webhook's effects are outside of PostgreSQL. Write `ledger: {store: "
                        "lease}`.");
    } else if (webhook.timeout * 2 > ledger.lease) {
        report.error_at(
            report.given(path + ".timeout") ? path + ".timeout" : topic_path + ".ledger.lease",
            "A call may take " + duration_text(webhook.timeout) + ", and the lease ends after " +
                duration_text(ledger.lease) +
                ": it must be at least twice as long, or another worker may call at the same time. "
                "Lower the first or raise the second.");
    }
    if (webhook.connect_timeout > webhook.timeout) {
        report.error_at(path + ".connect_timeout",
                        "`connect_timeout` is above `timeout`, and has no effect. Exchange them.");
    }
    if (topic.format.tombstones == TombstonePolicy::remove) {
        report.error_at(topic_path + ".tombstones",
                        "A webhook has no row to delete, and a null payload cannot be sent. Write "
                        "`tombstones: skip` or `reject`.");
    }
    if (topic.reject.order == RejectPolicy::Order::by_key) {
        report.error_at(topic_path + ".order",
                        "A webhook keeps the order of a record key's messages, but does not hold "
                        "back those after a dead letter. Write `order: by_partition`.");
    }
    if (report.given(topic_path + ".retries")) {
        report.error_at(
            topic_path + ".retries",
            "A webhook's calls are tried again by `sink.webhook.retries`. Remove this.");
    }
}

// `store: lease`, whatever its sink.
void check_lease(const TopicConfiguration& topic, const LedgerOptions& ledger,
                 const std::string& topic_path, Report& report) {
    const std::string path = topic_path + ".ledger";
    if (ledger.store != StoreKind::lease) {
        if (report.given(path + ".lease")) {
            report.error_at(path + ".lease",
                            "Only `store: lease` has leases. Remove this, or write `store: "
                            "lease`.");
        }
        return;
    }
    if (!std::holds_alternative<WebhookOptions>(topic.sink)) {
        report.error_at(path + ".store",
                        "`store: lease` is for effects outside of PostgreSQL: a table's rows go "
                        "with their claims in one transaction. Write `store: table` or `store: "
                        "log`, or a `webhook`.");
    }
    if (ledger.reach != Reach::global) {
        report.error_at(path + ".reach",
                        "The `lease` store always finds duplicates everywhere. Write `reach: "
                        "global`.");
    }
    if (ledger.lease >= ledger.retention) {
        report.error_at(report.given(path + ".lease") ? path + ".lease" : path + ".retention",
                        "A lease of " + duration_text(ledger.lease) +
                            " does not end within the retention (" +
                            duration_text(ledger.retention) +
                            "). Lower the first or raise the "
                            "second.");
    }
}

}  // namespace onceward
