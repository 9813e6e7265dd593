#include <algorithm>

#include "cli/configuration/checks.h"
#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {

const std::vector<OptionSpec> webhook_options = {
    {"topics[].sink.webhook.url", "", into([](To& to) { return &to.webhook.url; }),
     "Each message is sent there, its payload as the body. With `store: lease` alone. 2xx is done; "
     "408, 425, 429, 5xx, 3xx and network errors are tried again, and the message's partition "
     "waits meanwhile; any other 4xx is final: a dead letter. No redirect is followed, no proxy "
     "asked.",
     "The effect may happen again if an answer was lost: the receiver has to honour the key in "
     "`key_header`."},
    {"topics[].sink.webhook.method", "POST",
     into([](To& to) { return &to.webhook.method; }, {"POST", "PUT", "PATCH"}),
     "The request's method."},
    {"topics[].sink.webhook.concurrency", "16",
     into([](To& to) { return &to.webhook.concurrency; }, {1, 1000}),
     "Calls under way at once, of each worker. Messages of one partition with the same record key "
     "are sent one after the other, in offset order; others in any order.",
     "While a batch of up to eight times as many is processed, the worker's other topics are "
     "delayed."},
    {"topics[].sink.webhook.timeout", "10s",
     into([](To& to) { return &to.webhook.timeout; }, {10, 600'000}),
     "The time-out of one call, to the answer's last byte. Half of `ledger.lease` at most.",
     "A revoke and a shutdown wait for calls under way, up to `drain_timeout`."},
    {"topics[].sink.webhook.connect_timeout", "3s",
     into([](To& to) { return &to.webhook.connect_timeout; }, {10, 600'000}),
     "The time-out of its connection alone, with the look-up of the name and TLS."},
    {"topics[].sink.webhook.retries", "3",
     into([](To& to) { return &to.webhook.retries.attempts; }, {0, 100}),
     "How often a call is made again in a row. After that the key is freed, and its partition is "
     "read again from there after a pause: a second at first, doubled up to five minutes. "
     "`Retry-After` is honoured in both cases."},
    {"topics[].sink.webhook.backoff", "500ms",
     into([](To& to) { return &to.webhook.retries.backoff; }, {10, 300'000}),
     "The pause before the first of these; each further pause is twice as long, plus up to a "
     "quarter at random."},
    {"topics[].sink.webhook.retry_on", "", into([](To& to) { return &to.webhook.retry_on; }),
     "Further statuses from 400 to 499 that are tried again, such as `[409]` if the receiver "
     "answers so while a first try still runs.",
     "If the receiver never stops answering with such a status, the partition waits for ever."},
    {"topics[].sink.webhook.key_header", "Idempotency-Key",
     into([](To& to) { return &to.webhook.key_header; }),
     "The header with the key by which the receiver recognises a repeat: a UUID derived from the "
     "message's own key, in quotes (RFC 8941), the same on each try.",
     "If the receiver does not read the header of this name, repeated calls are not recognised."},
    {"topics[].sink.webhook.content_type", "application/json",
     into([](To& to) { return &to.webhook.content_type; }),
     "The header `Content-Type` of each call."},
    {"topics[].sink.webhook.headers", "", into([](To& to) { return &to.webhook.headers; }),
     "Further headers of each call, such as `Authorization: Bearer ${TOKEN}`. The record's own "
     "`traceparent` and `tracestate` are passed through without being named here, and with "
     "`traces` the span of the call takes the parent's place; a record without one has a "
     "`traceparent` made of its downstream key."},
    {"topics[].sink.webhook.allow_private", "",
     into([](To& to) { return &to.webhook.allow_private; }),
     "Networks that may be called though they are not public, such as `[10.1.0.0/16, \"::1\"]`. "
     "Addresses of loopback, link-local, private and other special ranges are otherwise refused "
     "when the connection is made, whatever the name resolved to before.",
     "The webhook's name may then lead to any address in these networks."},
    {"topics[].sink.webhook.ca_file", "", into([](To& to) { return &to.webhook.ca_file; }),
     "A file of PEM certificates to trust in place of the system's; relative to this "
     "configuration's folder."},
    {"topics[].sink.webhook.answer_bytes", "64KiB",
     into_size([](To& to) { return &to.webhook.answer_bytes; }, {0, 64 * 1024 * 1024}),
     "Most bytes of an answer's body that are read. If it is longer, only the status counts and "
     "the body is not kept, whatever `results` says."},
    {"topics[].sink.webhook.sign.secret", "", into([](To& to) { return &to.webhook.sign_secret; }),
     "Each call is signed with it. For `standard_webhooks` it is `whsec_` and the base64 of 24 to "
     "64 bytes."},
    {"topics[].sink.webhook.sign.scheme", "onceward",
     into([](To& to) { return &to.webhook.sign_scheme; }, {"onceward", "standard_webhooks"}),
     "`onceward`: HMAC-SHA256 over the time in seconds, a dot and the body, as `t=SECONDS,v1=HEX` "
     "in "
     "`sign.header`. `standard_webhooks` (standardwebhooks.com): the headers `webhook-id`, which "
     "is "
     "the downstream key, `webhook-timestamp` and `webhook-signature`."},
    {"topics[].sink.webhook.sign.header", "Onceward-Signature",
     into([](To& to) { return &to.webhook.sign_header; }),
     "The header that the signature goes in."},
};

namespace {

void check_headers(const WebhookOptions& webhook, const Section& at) {
    std::vector<std::string> names;
    const auto check = [&](const std::string& name, const std::string& option) {
        const bool twice = std::ranges::any_of(
            names, [&](const std::string& other) { return same_header(other, name); });
        const bool valid = valid_header_name(name);
        const std::string shown = "`" + leading_name(name) + "`";
        at.check({
            {!valid, option,
             shown + " is not a header's name (letters, digits, `-` and a few others)."},
            {valid && is_of_the_call(name), option,
             shown +
                 " belongs to the call itself. Remove it; `content_type` is an option of its own."},
            {twice, option, "The header " + shown + " is there twice. Keep one of them."},
        });
        names.push_back(name);
    };
    check(webhook.key_header, "key_header");
    const bool standard = webhook.sign_scheme == WebhookOptions::SignScheme::standard_webhooks;
    if (!webhook.sign_secret.empty() && standard) {
        for (const char* name : {"webhook-id", "webhook-timestamp", "webhook-signature"}) {
            check(name, "sign.scheme");
        }
        at.check({
            {at.given("sign.header"), "sign.header",
             "This scheme has headers of its own. Remove it, or write `scheme: onceward`."},
            {at.known("sign.secret") && !standard_webhooks_key(webhook.sign_secret.reveal()),
             "sign.secret",
             "A secret of this scheme is base64 of 24 to 64 bytes, `whsec_` before it. Write one "
             "that `openssl rand -base64 32` has made."},
        });
    } else if (!webhook.sign_secret.empty()) {
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
