#include <cstdlib>

#include "cli/configuration/option_table.h"

namespace onceward {
namespace {

using To = OptionTarget;
using In = OptionValue;

const OptionSpec webhook_entries[] = {
    {.path = "topics[].sink.webhook.url",
     .type = OptionType::secret,
     .meaning = "Each message is sent there, its payload as the body. With `store: lease` alone. "
                "2xx is done; 408, 425, 429, 5xx, 3xx and network errors are tried again, and the "
                "message's partition waits meanwhile; any other 4xx is final: a dead letter. No "
                "redirect is followed, no proxy asked.",
     .cost = "The effect may happen again if an answer was lost: the receiver has to honour the "
             "key in `key_header`.",
     .bind = [](To& to, const In& value) { to.webhook->url = Secret(value.text); }},
    {.path = "topics[].sink.webhook.method",
     .type = OptionType::choice,
     .default_text = "POST",
     .meaning = "The request's method.",
     .bind =
         [](To& to, const In& value) {
             static const char* const names[] = {"POST", "PUT", "PATCH"};
             to.webhook->method = names[value.choice];
         },
     .choices = {"POST", "PUT", "PATCH"}},
    {.path = "topics[].sink.webhook.concurrency",
     .type = OptionType::integer,
     .default_text = "16",
     .meaning = "Calls under way at once, of each worker. Messages of one partition with the same "
                "record key are sent one after the other, in offset order; others in any order.",
     .cost = "While a batch of up to eight times as many is processed, the worker's other topics "
             "wait.",
     .bind =
         [](To& to, const In& value) {
             to.webhook->concurrency = static_cast<std::size_t>(value.integer);
         },
     .minimum = 1,
     .maximum = 1000},
    {.path = "topics[].sink.webhook.timeout",
     .type = OptionType::duration,
     .default_text = "10s",
     .meaning = "The time-out of one call, to the answer's last byte. Half of `ledger.lease` at "
                "most.",
     .cost = "A revoke and a shutdown wait for calls under way, up to `drain_timeout`.",
     .bind = [](To& to, const In& value) { to.webhook->timeout = value.duration; },
     .minimum = 10,
     .maximum = 600'000},
    {.path = "topics[].sink.webhook.connect_timeout",
     .type = OptionType::duration,
     .default_text = "3s",
     .meaning = "The time-out of its connection alone, with the look-up of the name and TLS.",
     .bind = [](To& to, const In& value) { to.webhook->connect_timeout = value.duration; },
     .minimum = 10,
     .maximum = 600'000},
    {.path = "topics[].sink.webhook.retries",
     .type = OptionType::integer,
     .default_text = "3",
     .meaning = "How often a call is made again in a row. After that the key is freed, and its "
                "partition is read again from there after a pause: a second at first, doubled up "
                "to five minutes. `Retry-After` is honoured in both cases.",
     .bind =
         [](To& to, const In& value) {
             to.webhook->retries.attempts = static_cast<int>(value.integer);
         },
     .minimum = 0,
     .maximum = 100},
    {.path = "topics[].sink.webhook.backoff",
     .type = OptionType::duration,
     .default_text = "500ms",
     .meaning = "The pause before the first of these; each further pause is twice as long, plus up "
                "to a quarter at random.",
     .bind = [](To& to, const In& value) { to.webhook->retries.backoff = value.duration; },
     .minimum = 10,
     .maximum = 300'000},
    {.path = "topics[].sink.webhook.retry_on",
     .type = OptionType::texts,
     .meaning = "Further statuses from 400 to 499 that are tried again, such as `[409]` if the "
                "receiver answers so while a first try still runs.",
     .cost = "One that never ends stops its partition for good.",
     .bind =
         [](To& to, const In& value) {
             for (const std::string& text : value.texts) {
                 const long status = std::strtol(text.c_str(), nullptr, 10);
                 to.webhook->retry_on.push_back(static_cast<int>(status));
             }
         }},
    {.path = "topics[].sink.webhook.key_header",
     .default_text = "Idempotency-Key",
     .meaning = "The header with the key by which the receiver recognises a repeat: a UUID derived "
                "from the message's own key, in quotes (RFC 8941), the same on each try.",
     .cost = "Under another name there is no protection until the receiver reads it.",
     .bind = [](To& to, const In& value) { to.webhook->key_header = value.text; }},
    {.path = "topics[].sink.webhook.content_type",
     .default_text = "application/json",
     .meaning = "The header `Content-Type` of each call.",
     .bind = [](To& to, const In& value) { to.webhook->content_type = value.text; }},
    {.path = "topics[].sink.webhook.headers",
     .type = OptionType::headers,
     .meaning = "Further headers of each call, such as `Authorization: Bearer ${TOKEN}`. The "
                "record's own `traceparent` and `tracestate` are passed through without being "
                "named here; a record without one has a `traceparent` made of its downstream key.",
     .bind =
         [](To& to, const In& value) {
             to.webhook->headers.assign(value.properties.begin(), value.properties.end());
         }},
    {.path = "topics[].sink.webhook.allow_private",
     .type = OptionType::texts,
     .meaning = "Networks that may be called though they are not public, such as `[10.1.0.0/16, "
                "\"::1\"]`. Addresses of loopback, link-local, private and other special ranges "
                "are otherwise refused when the connection is made, whatever the name resolved to "
                "before.",
     .cost = "The webhook's name may then lead to any address in these networks.",
     .bind = [](To& to, const In& value) { to.webhook->allow_private = value.texts; }},
    {.path = "topics[].sink.webhook.ca_file",
     .meaning = "A file of PEM certificates to trust in place of the system's; relative to this "
                "configuration's folder.",
     .bind = [](To& to, const In& value) { to.webhook->ca_file = value.text; }},
    {.path = "topics[].sink.webhook.answer_bytes",
     .type = OptionType::size,
     .default_text = "64KiB",
     .meaning = "Most bytes of an answer's body that are read. If it is longer, only the status "
                "counts and the body is not kept, whatever `results` says.",
     .bind = [](To& to, const In& value) { to.webhook->answer_bytes = value.integer; },
     .maximum = 64 * 1024 * 1024},
    {.path = "topics[].sink.webhook.sign.secret",
     .type = OptionType::secret,
     .meaning = "Each call is signed: HMAC-SHA256 with this key over the time in seconds, a dot "
                "and the body, as `t=SECONDS,v1=HEX`.",
     .bind = [](To& to, const In& value) { to.webhook->sign_secret = Secret(value.text); }},
    {.path = "topics[].sink.webhook.sign.header",
     .default_text = "Onceward-Signature",
     .meaning = "The header that the signature goes in.",
     .bind = [](To& to, const In& value) { to.webhook->sign_header = value.text; }},
};

}  // namespace

std::vector<OptionSpec> webhook_options() {
    return {std::begin(webhook_entries), std::end(webhook_entries)};
}

}  // namespace onceward
