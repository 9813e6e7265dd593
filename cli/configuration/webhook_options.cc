#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> webhook_options = {
    {.path = "topics[].sink.webhook.url",
     .meaning = "Each message is sent there, its payload as the body. With `store: lease` alone. "
                "2xx is done; 408, 425, 429, 5xx, 3xx and network errors are tried again, and the "
                "message's partition waits meanwhile; any other 4xx is final: a dead letter. No "
                "redirect is followed, no proxy asked.",
     .cost = "The effect may happen again if an answer was lost: the receiver has to honour the "
             "key in `key_header`.",
     .bind = into([](To& to) { return &to.webhook->url; })},
    {.path = "topics[].sink.webhook.method",
     .default_text = "POST",
     .meaning = "The request's method.",
     .bind = {OptionType::choice,
              [](To& to, const In& value) {
                  static const char* const names[] = {"POST", "PUT", "PATCH"};
                  to.webhook->method = names[std::get<Choice>(value).index];
              }},
     .choices = {"POST", "PUT", "PATCH"}},
    {.path = "topics[].sink.webhook.concurrency",
     .default_text = "16",
     .meaning = "Calls under way at once, of each worker. Messages of one partition with the same "
                "record key are sent one after the other, in offset order; others in any order.",
     .cost =
         "While a batch of up to eight times as many is processed, the worker's other topics wait.",
     .bind = into([](To& to) { return &to.webhook->concurrency; }),
     .limits = {1, 1000}},
    {.path = "topics[].sink.webhook.timeout",
     .default_text = "10s",
     .meaning = "The time-out of one call, to the answer's last byte. Half of `ledger.lease` at "
                "most.",
     .cost = "A revoke and a shutdown wait for calls under way, up to `drain_timeout`.",
     .bind = into([](To& to) { return &to.webhook->timeout; }),
     .limits = {10, 600'000}},
    {.path = "topics[].sink.webhook.connect_timeout",
     .default_text = "3s",
     .meaning = "The time-out of its connection alone, with the look-up of the name and TLS.",
     .bind = into([](To& to) { return &to.webhook->connect_timeout; }),
     .limits = {10, 600'000}},
    {.path = "topics[].sink.webhook.retries",
     .default_text = "3",
     .meaning = "How often a call is made again in a row. After that the key is freed, and its "
                "partition is read again from there after a pause: a second at first, doubled up "
                "to five minutes. `Retry-After` is honoured in both cases.",
     .bind = into([](To& to) { return &to.webhook->retries.attempts; }),
     .limits = {0, 100}},
    {.path = "topics[].sink.webhook.backoff",
     .default_text = "500ms",
     .meaning = "The pause before the first of these; each further pause is twice as long, plus up "
                "to a quarter at random.",
     .bind = into([](To& to) { return &to.webhook->retries.backoff; }),
     .limits = {10, 300'000}},
    {.path = "topics[].sink.webhook.retry_on",
     .meaning = "Further statuses from 400 to 499 that are tried again, such as `[409]` if the "
                "receiver answers so while a first try still runs.",
     .cost = "One that never ends stops its partition for good.",
     .bind = into([](To& to) { return &to.webhook->retry_on; })},
    {.path = "topics[].sink.webhook.key_header",
     .default_text = "Idempotency-Key",
     .meaning = "The header with the key by which the receiver recognises a repeat: a UUID derived "
                "from the message's own key, in quotes (RFC 8941), the same on each try.",
     .cost = "Under another name there is no protection until the receiver reads it.",
     .bind = into([](To& to) { return &to.webhook->key_header; })},
    {.path = "topics[].sink.webhook.content_type",
     .default_text = "application/json",
     .meaning = "The header `Content-Type` of each call.",
     .bind = into([](To& to) { return &to.webhook->content_type; })},
    {.path = "topics[].sink.webhook.headers",
     .meaning = "Further headers of each call, such as `Authorization: Bearer ${TOKEN}`. The "
                "record's own `traceparent` and `tracestate` are passed through without being "
                "named here; a record without one has a `traceparent` made of its downstream key.",
     .bind = into([](To& to) { return &to.webhook->headers; })},
    {.path = "topics[].sink.webhook.allow_private",
     .meaning =
         "Networks that may be called though they are not public, such as `[10.1.0.0/16, "
         "\"::1\"]`. Addresses of loopback, link-local, private and other special ranges are "
         "otherwise refused when the connection is made, whatever the name resolved to before.",
     .cost = "The webhook's name may then lead to any address in these networks.",
     .bind = into([](To& to) { return &to.webhook->allow_private; })},
    {.path = "topics[].sink.webhook.ca_file",
     .meaning = "A file of PEM certificates to trust in place of the system's; relative to this "
                "configuration's folder.",
     .bind = into([](To& to) { return &to.webhook->ca_file; })},
    {.path = "topics[].sink.webhook.answer_bytes",
     .default_text = "64KiB",
     .meaning = "Most bytes of an answer's body that are read. If it is longer, only the status "
                "counts and the body is not kept, whatever `results` says.",
     .bind = into_size([](To& to) { return &to.webhook->answer_bytes; }),
     .limits = {0, 64 * 1024 * 1024}},
    {.path = "topics[].sink.webhook.sign.secret",
     .meaning = "Each call is signed: HMAC-SHA256 with this key over the time in seconds, a dot "
                "and the body, as `t=SECONDS,v1=HEX`.",
     .bind = into([](To& to) { return &to.webhook->sign_secret; })},
    {.path = "topics[].sink.webhook.sign.header",
     .default_text = "Onceward-Signature",
     .meaning = "The header that the signature goes in.",
     .bind = into([](To& to) { return &to.webhook->sign_header; })},
};

}  // namespace onceward
