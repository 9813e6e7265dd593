#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> webhook_options = {
    {"topics[].sink.webhook.url", "", into([](To& to) { return &to.webhook->url; }),
     "Each message is sent there, its payload as the body. With `store: lease` alone. 2xx is done; "
     "408, 425, 429, 5xx, 3xx and network errors are tried again, and the message's partition "
     "waits meanwhile; any other 4xx is final: a dead letter. No redirect is followed, no proxy "
     "asked.",
     "The effect may happen again if an answer was lost: the receiver has to honour the key in "
     "`key_header`."},
    {"topics[].sink.webhook.method", "POST",
     into([](To& to) { return &to.webhook->method; }, {"POST", "PUT", "PATCH"}),
     "The request's method."},
    {"topics[].sink.webhook.concurrency", "16",
     into([](To& to) { return &to.webhook->concurrency; }, {1, 1000}),
     "Calls under way at once, of each worker. Messages of one partition with the same record key "
     "are sent one after the other, in offset order; others in any order.",
     "While a batch of up to eight times as many is processed, the worker's other topics wait."},
    {"topics[].sink.webhook.timeout", "10s",
     into([](To& to) { return &to.webhook->timeout; }, {10, 600'000}),
     "The time-out of one call, to the answer's last byte. Half of `ledger.lease` at most.",
     "A revoke and a shutdown wait for calls under way, up to `drain_timeout`."},
    {"topics[].sink.webhook.connect_timeout", "3s",
     into([](To& to) { return &to.webhook->connect_timeout; }, {10, 600'000}),
     "The time-out of its connection alone, with the look-up of the name and TLS."},
    {"topics[].sink.webhook.retries", "3",
     into([](To& to) { return &to.webhook->retries.attempts; }, {0, 100}),
     "How often a call is made again in a row. After that the key is freed, and its partition is "
     "read again from there after a pause: a second at first, doubled up to five minutes. "
     "`Retry-After` is honoured in both cases."},
    {"topics[].sink.webhook.backoff", "500ms",
     into([](To& to) { return &to.webhook->retries.backoff; }, {10, 300'000}),
     "The pause before the first of these; each further pause is twice as long, plus up to a "
     "quarter at random."},
    {"topics[].sink.webhook.retry_on", "", into([](To& to) { return &to.webhook->retry_on; }),
     "Further statuses from 400 to 499 that are tried again, such as `[409]` if the receiver "
     "answers so while a first try still runs.",
     "One that never ends stops its partition for good."},
    {"topics[].sink.webhook.key_header", "Idempotency-Key",
     into([](To& to) { return &to.webhook->key_header; }),
     "The header with the key by which the receiver recognises a repeat: a UUID derived from the "
     "message's own key, in quotes (RFC 8941), the same on each try.",
     "Under another name there is no protection until the receiver reads it."},
    {"topics[].sink.webhook.content_type", "application/json",
     into([](To& to) { return &to.webhook->content_type; }),
     "The header `Content-Type` of each call."},
    {"topics[].sink.webhook.headers", "", into([](To& to) { return &to.webhook->headers; }),
     "Further headers of each call, such as `Authorization: Bearer ${TOKEN}`. The record's own "
     "`traceparent` and `tracestate` are passed through without being named here; a record without "
     "one has a `traceparent` made of its downstream key."},
    {"topics[].sink.webhook.allow_private", "",
     into([](To& to) { return &to.webhook->allow_private; }),
     "Networks that may be called though they are not public, such as `[10.1.0.0/16, \"::1\"]`. "
     "Addresses of loopback, link-local, private and other special ranges are otherwise refused "
     "when the connection is made, whatever the name resolved to before.",
     "The webhook's name may then lead to any address in these networks."},
    {"topics[].sink.webhook.ca_file", "", into([](To& to) { return &to.webhook->ca_file; }),
     "A file of PEM certificates to trust in place of the system's; relative to this "
     "configuration's folder."},
    {"topics[].sink.webhook.answer_bytes", "64KiB",
     into_size([](To& to) { return &to.webhook->answer_bytes; }, {0, 64 * 1024 * 1024}),
     "Most bytes of an answer's body that are read. If it is longer, only the status counts and "
     "the body is not kept, whatever `results` says."},
    {"topics[].sink.webhook.sign.secret", "", into([](To& to) { return &to.webhook->sign_secret; }),
     "Each call is signed: HMAC-SHA256 with this key over the time in seconds, a dot and the body, "
     "as `t=SECONDS,v1=HEX`."},
    {"topics[].sink.webhook.sign.header", "Onceward-Signature",
     into([](To& to) { return &to.webhook->sign_header; }),
     "The header that the signature goes in."},
};

}  // namespace onceward
