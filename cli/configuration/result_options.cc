#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> result_options = {
    {"topics[].results.max_bytes", "64KiB",
     into_size([](To& to) { return &to.topic->answers.limits.max_bytes; },
               {1, std::int64_t{64} << 20}),
     "With `results` (`results: {}` is enough) or `reply` the sink's result of each message is "
     "stored with its claim, for as long as that, and is the answer to each duplicate. This is the "
     "most that headers and body of one may take.",
     "Each result is a row of that size, and read again for each replay."},
    {"topics[].results.on_too_large", "drop_body",
     into([](To& to) { return &to.topic->answers.limits.on_too_large; }, {"drop_body", "reject"}),
     "Above that: `drop_body` drops body and headers, in the first answer and in the replays, with "
     "the header `onceward-body-dropped`; `reject` rejects the message, and nothing of it is "
     "written."},
    {"topics[].results.headers", "<content-*, location, etag, last-modified, link>",
     into([](To& to) { return &to.topic->answers.limits.headers; }),
     "The headers of a result that are stored and replayed. Never those that set cookies, carry "
     "credentials or belong to one connection."},
    {"topics[].results.cache", "4MiB",
     into_size([](To& to) { return &to.topic->answers.cache_bytes; }, {0, std::int64_t{1} << 34}),
     "Most bytes of results that a worker remembers, so that what is replayed often is not read "
     "each time. Erased and expired results are never replayed."},
    {"topics[].reply.topic", "", into([](To& to) { return &to.topic->answers.reply.topic; }),
     "Each message is answered with a record in this topic: the result's body and headers, "
     "`onceward-status` where it has a status, `onceward-failed: true` for a permanent failure, "
     "and `onceward-replayed: true` on what a duplicate gets. Its key is the message's record "
     "key."},
    {"topics[].reply.correlation_headers", "<correlation-id, kafka_correlationId, traceparent>",
     into([](To& to) { return &to.topic->answers.reply.correlation_headers; }),
     "Headers of the message that its reply carries over."},
};

}  // namespace onceward
