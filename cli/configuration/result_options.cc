#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> result_options = {
    {.path = "topics[].results.max_bytes",
     .default_text = "64KiB",
     .meaning = "With `results` (`results: {}` is enough) or `reply` the sink's result of each "
                "message is stored with its claim, for as long as that, and is the answer to each "
                "duplicate. This is the most that headers and body of one may take.",
     .cost = "Each result is a row of that size, and read again for each replay.",
     .bind = into_size([](To& to) { return &to.topic->answers.limits.max_bytes; }),
     .limits = {1, std::int64_t{64} << 20}},
    {.path = "topics[].results.on_too_large",
     .default_text = "drop_body",
     .meaning = "Above that: `drop_body` drops body and headers, in the first answer and in the "
                "replays, with the header `onceward-body-dropped`; `reject` rejects the message, "
                "and nothing of it is written.",
     .bind = into([](To& to) { return &to.topic->answers.limits.on_too_large; }),
     .choices = {"drop_body", "reject"}},
    {.path = "topics[].results.headers",
     .default_text = "<content-*, location, etag, last-modified, link>",
     .meaning = "The headers of a result that are stored and replayed. Never those that set "
                "cookies, carry credentials or belong to one connection.",
     .bind = into([](To& to) { return &to.topic->answers.limits.headers; })},
    {.path = "topics[].results.cache",
     .default_text = "4MiB",
     .meaning = "Most bytes of results that a worker remembers, so that what is replayed often is "
                "not read each time. Erased and expired results are never replayed.",
     .bind = into_size([](To& to) { return &to.topic->answers.cache_bytes; }),
     .limits = {0, std::int64_t{1} << 34}},
    {.path = "topics[].reply.topic",
     .meaning = "Each message is answered with a record in this topic: the result's body and "
                "headers, `onceward-status` where it has a status, `onceward-failed: true` for a "
                "permanent failure, and `onceward-replayed: true` on what a duplicate gets. Its "
                "key is the message's record key.",
     .bind = into([](To& to) { return &to.topic->answers.reply.topic; })},
    {.path = "topics[].reply.correlation_headers",
     .default_text = "<correlation-id, kafka_correlationId, traceparent>",
     .meaning = "Headers of the message that its reply carries over.",
     .bind = into([](To& to) { return &to.topic->answers.reply.correlation_headers; })},
};

}  // namespace onceward
