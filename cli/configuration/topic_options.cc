#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> topic_options = {
    {.path = "topics[].name",
     .required = true,
     .meaning = "The topic's name; no pattern.",
     .bind = into([](To& to) { return &to.topic->name; })},
    {.path = "topics[].database",
     .default_text = "postgres",
     .meaning = "The PostgreSQL server that has the topic's fences, ledger, dead letters and sink: "
                "`postgres`, or a name in `databases`.",
     .cost = "A new server does not know what was applied on the previous one: the topic halts "
             "until `onceward offsets --set` says where it begins there.",
     .bind = into([](To& to) { return &to.topic->database; })},
    {.path = "topics[].format",
     .default_text = "json",
     .meaning = "What the payload is. `raw` reads nothing in it: keys and columns then come from "
                "headers, the record's key and metadata.",
     .bind = into([](To& to) { return &to.topic->format.format; }),
     .choices = {"json", "protobuf", "raw"}},
    {.path = "topics[].framing",
     .default_text = "none",
     .meaning = "`confluent`: a byte 0, a schema id and, for Protobuf, the message's index are "
                "before the payload.",
     .bind = into([](To& to) { return &to.topic->format.framing; }),
     .choices = {"none", "confluent"}},
    {.path = "topics[].envelope",
     .default_text = "none",
     .meaning = "JSON only. `connect` reads `payload` of a Connect record, `debezium` the row of "
                "a change event (`after`, or `before` of a delete).",
     .bind = into([](To& to) { return &to.topic->format.envelope; }),
     .choices = {"none", "connect", "debezium"}},
    {.path = "topics[].protobuf.descriptor_set",
     .meaning = "A file that `protoc --include_imports --descriptor_set_out` wrote; relative to "
                "this configuration's folder.",
     .bind = into([](To& to) { return &to.topic->format.descriptor_set; })},
    {.path = "topics[].protobuf.proto_files",
     .meaning = "Instead of a descriptor set: the .proto files themselves.",
     .bind = into([](To& to) { return &to.topic->format.proto_files; })},
    {.path = "topics[].protobuf.proto_paths",
     .meaning = "Folders in which imports are looked up; the files' own are among them.",
     .bind = into([](To& to) { return &to.topic->format.proto_paths; })},
    {.path = "topics[].protobuf.message",
     .meaning = "The message's full name, such as `shop.v1.Payment`.",
     .bind = into([](To& to) { return &to.topic->format.message; })},
    {.path = "topics[].tombstones",
     .default_text = "reject",
     .meaning = "What a null payload means: `delete` the sink's row (upsert only), `skip` and "
                "count it, or `reject` it as a bad message.",
     .bind = into([](To& to) { return &to.topic->format.tombstones; }),
     .choices = {"delete", "skip", "reject"}},
    {.path = "topics[].start",
     .default_text = "committed",
     .meaning = "Where reading begins while the group has no fence for a partition: `committed` "
                "(Kafka's offset of this group), `earliest`, `latest`, or a time such as "
                "`2026-01-31T12:00:00Z`.",
     .bind = into([](To& to) { return &to.topic->start; })},
    {.path = "topics[].start_fallback",
     .default_text = "earliest",
     .meaning = "With `start: committed`, where reading begins if nothing is committed.",
     .cost = "`latest` skips what the topic holds now.",
     .bind = into([](To& to) { return &to.topic->start.fallback; }),
     .choices = {"earliest", "latest"}},
    {.path = "topics[].on_out_of_range",
     .default_text = "halt",
     .meaning = "What to do when the log no longer holds the fence's offset. `halt` stops the "
                "topic and says which offsets are gone.",
     .cost = "`earliest` and `latest` continue, and the offsets in between are lost.",
     .bind = into([](To& to) { return &to.topic->on_out_of_range; }),
     .choices = {"halt", "earliest", "latest"}},
    {.path = "topics[].on_reject",
     .default_text = "dead_letter",
     .meaning = "What to do with a message that cannot be applied: into the dead letters, in the "
                "same transaction, or stop the topic.",
     .bind = into([](To& to) { return &to.topic->reject.action; }),
     .choices = {"dead_letter", "halt"}},
    {.path = "topics[].reject_cap.share",
     .default_text = "0.5",
     .meaning = "Beyond this share of rejected messages within the window the topic halts: a bad "
                "deploy must not empty a topic into the dead letters. 1 never halts.",
     .bind = into([](To& to) { return &to.topic->reject.cap_share; }),
     .limits = {0, 1}},
    {.path = "topics[].reject_cap.window",
     .default_text = "60s",
     .meaning = "The time over which that share is taken.",
     .bind = into([](To& to) { return &to.topic->reject.cap_window; }),
     .limits = {1000, 86'400'000}},
    {.path = "topics[].reject_cap.minimum",
     .default_text = "1000",
     .meaning = "Fewer rejected messages than this within the window never halt.",
     .bind = into([](To& to) { return &to.topic->reject.cap_minimum; }),
     .limits = {1, 1'000'000'000}},
    {.path = "topics[].retries.attempts",
     .default_text = "0",
     .meaning = "How often a message is tried again before it is rejected, if the reason may be "
                "temporary: an error that your own function or trigger raised (SQLSTATE classes "
                "P0, 38, 39), or a foreign key whose other row is not there yet (23503). Nothing "
                "else is tried again.",
     .cost = "Its partition waits: it is not read until the message is applied or has used up its "
             "tries. Counted in memory; a worker that takes the partition over starts at 0.",
     .bind = into([](To& to) { return &to.topic->reject.retries; }),
     .limits = {0, 1000}},
    {.path = "topics[].retries.backoff",
     .default_text = "1s",
     .meaning = "The pause before the first of these tries. Each further pause is twice as long, "
                "up to five minutes, and all vary by a quarter at random.",
     .bind = into([](To& to) { return &to.topic->reject.retry_backoff; }),
     .limits = {10, 300'000}},
    {.path = "topics[].order",
     .default_text = "by_partition",
     .meaning =
         "What a dead letter means for the messages after it. `by_partition`: nothing, they are "
         "applied in offset order without it. `by_key`: those with the same record key (Kafka's "
         "own, not the idempotency key) follow it into the dead letters, with the class `behind`, "
         "as long as one of that key is open; messages without a record key never.",
     .cost = "`by_key` checks the open dead letters in each transaction: one probe if the topic "
             "has none, else one for each message; a batch that has such a key is done twice.",
     .bind = into([](To& to) { return &to.topic->reject.order; }),
     .choices = {"by_partition", "by_key"}},
    {.path = "topics[].hot_key.most",
     .default_text = "0",
     .meaning =
         "The number of messages with the same idempotency key within a window that are processed "
         "as usual: one is applied, the others are duplicates. Further ones go to the dead "
         "letters, with the class `hot_key`, without a look into the ledger. 0: any number. Not "
         "with `store: lease`.",
     .cost = "Two look-ups in memory for each message, 0.4 us. Each worker counts for itself, and "
             "again after a restart; above 65,536 keys within a window it may count too few, never "
             "too many. A further copy gets no reply.",
     .bind = into([](To& to) { return &to.topic->reject.hot_key.most; }),
     .limits = {0, 1'000'000'000}},
    {.path = "topics[].hot_key.within",
     .default_text = "60s",
     .meaning = "How long a window is. Windows follow one another, by the messages' own "
                "timestamps, so up to twice as many may pass where two windows meet.",
     .bind = into([](To& to) { return &to.topic->reject.hot_key.within; }),
     .limits = {1000, 86'400'000}},
};

}  // namespace onceward
