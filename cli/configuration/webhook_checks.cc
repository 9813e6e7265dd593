#include <algorithm>

#include "cli/configuration/checks.h"
#include "cli/configuration/units.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {
namespace {

void check_header(const std::string& name, const std::string& option, const Section& at) {
    if (!valid_header_name(name)) {
        at.error(option,
                 "`" + name + "` is not a header's name (letters, digits, `-` and a few others).");
    } else if (is_of_the_call(name)) {
        at.error(option, "`" + name +
                             "` belongs to the call itself. Remove it; `content_type` is an "
                             "option of its own.");
    }
}

void check_headers(const WebhookOptions& webhook, const Section& at) {
    std::vector<std::string> names;
    const auto check = [&](const std::string& name, const std::string& option) {
        check_header(name, option, at);
        const bool twice = std::ranges::any_of(
            names, [&](const std::string& other) { return same_header(other, name); });
        if (twice) at.error(option, "The header `" + name + "` is there twice. Keep one of them.");
        names.push_back(name);
    };
    check(webhook.key_header, "key_header");
    if (!webhook.sign_secret.empty()) {
        check(webhook.sign_header, "sign.header");
    } else if (at.given("sign")) {
        at.error("sign.secret", "Without a secret nothing is signed. Write `secret: ${NAME}`.");
    }
    if (!valid_header_value(webhook.content_type)) {
        at.error("content_type", "This cannot be in a header.");
    }
    for (const auto& [name, value] : webhook.headers) {
        check(name, "headers." + name);
        check_header_value(value, "headers." + name, at);
    }
}

}  // namespace

void check_webhook(const TopicConfiguration& topic, const WebhookOptions& webhook,
                   const LedgerOptions& ledger, const Section& at) {
    const Section call = at.at("sink.webhook");
    check_call_address(
        {.url = webhook.url,
         .allow_private = webhook.allow_private,
         .with_query = true,
         .missing = "A webhook needs its address. Write `url: https://example.org/...`.",
         .advice = "`https://example.org/path`; a user and a password belong in `headers`.",
         .in_clear = "Messages go"},
        call);
    check_headers(webhook, call);
    check_call_files(webhook.ca_file, webhook.allow_private, call);
    for (const int status : webhook.retry_on) {
        if (status >= 400 && status < 500) continue;
        call.error("retry_on",
                   "Statuses here are from 400 to 499, such as `[409]`; 5xx are tried again "
                   "without being named.");
    }
    at.at("sink").refuse({"table", "columns", "mode", "conflict_target", "only_if_newer",
                          "transport", "function", "outbox"},
                         "A topic has one sink. Keep this or the `webhook`.");
    at.refuse({"also_publish"},
              "A webhook's effects are not in a transaction that could include a record. Write "
              "`reply`, or give the other topic a consumer of its own.");
    if (ledger.store != StoreKind::lease) {
        at.error("ledger.store",
                 "A webhook's effects are outside of PostgreSQL. Write `ledger: {store: lease}`.");
    } else {
        check_lease_covers(webhook.timeout, "sink.webhook.timeout", ledger, "worker", at);
    }
    at.check({
        {webhook.connect_timeout > webhook.timeout, "sink.webhook.connect_timeout",
         "`connect_timeout` is above `timeout`, and has no effect. Exchange them."},
        {topic.format.tombstones == TombstonePolicy::remove, "tombstones",
         "A webhook has no row to delete, and a null payload cannot be sent. Write `tombstones: "
         "skip` or `reject`."},
        {topic.reject.order == RejectPolicy::Order::by_key, "order",
         "A webhook keeps the order of a record key's messages, but does not hold back those after "
         "a dead letter. Write `order: by_partition`."},
        {at.given("retries"), "retries",
         "A webhook's calls are tried again by `sink.webhook.retries`. Remove this."},
    });
}

}  // namespace onceward
