#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> sink_options = {
    {"topics[].sink.table", "", into([](To& to) { return &to.table.table; }),
     "The table that messages are written to: `name` or `schema.name`. A sink has either this or "
     "`function`, with `columns`, or `outbox`, or `webhook`."},
    {"topics[].sink.function", "", into([](To& to) { return &to.function.function; }),
     "A function of yours, `name` or `schema.name`, that takes one `jsonb[]` and is called once "
     "for each batch, in its transaction: an object for each message. It returns one row for each, "
     "with a column `ordinality` (from 1) in any order; without that column it is called with one "
     "message at a time if results are used. A row is the message's result: `result_status`, "
     "`result_failed`, `result_headers` and `result_body`. Without `result_body` all other columns "
     "are the body, as one JSON object."},
    {"topics[].sink.mode", "insert",
     into([](To& to) { return &to.table.mode; }, {"insert", "upsert"}),
     "`insert`: a new row for each message. `upsert`: INSERT ... ON CONFLICT (conflict_target) DO "
     "UPDATE."},
    {"topics[].sink.columns", "", into([](To& to) { return &to.table.columns; }),
     "Each column (for a function: each member of the object) and where its value comes from: a "
     "path in the payload as plain text, or a mapping (see *Sources* below). A mapping may add "
     "`required: true`: a message without the value is rejected. And `convert`, `default` and "
     "`lossy`: see *Conversions* below."},
    {"topics[].sink.conflict_target", "", into([](To& to) { return &to.table.conflict_target; }),
     "Upsert: the columns of the unique index that identifies the row."},
    {"topics[].sink.only_if_newer", "", into([](To& to) { return &to.table.only_if_newer; }),
     "Upsert: the row changes only where this column grows (a version or a time)."},
    {"topics[].sink.transport", "copy",
     into([](To& to) { return &to.table.transport; }, {"copy", "unnest", "values"}),
     "How rows are inserted. `copy`: binary COPY. `unnest`: INSERT ... SELECT from typed arrays, "
     "which also works for views and tables with rules. `values`: INSERT ... VALUES, for upserts "
     "as well; a table that Citus manages is always written in this way.",
     "`unnest` is slower, and `values` slower still."},
};

const std::vector<OptionSpec> result_options = {
    {"topics[].results.max_bytes", "64KiB",
     into_size([](To& to) { return &to.topic->answers.limits.max_bytes; },
               {1, std::int64_t{64} << 20}),
     "With `results` (`results: {}` is enough) or `reply` the sink's result of each message is "
     "stored for as long as its claim, and is the answer to each duplicate. This option is the "
     "maximum size of the headers and body of one result.",
     "Each result is a row of that size, and read again for each replay."},
    {"topics[].results.on_too_large", "drop_body",
     into([](To& to) { return &to.topic->answers.limits.on_too_large; }, {"drop_body", "reject"}),
     "What to do with a larger result. `drop_body` drops body and headers, in the first answer and "
     "in the replays, with "
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
