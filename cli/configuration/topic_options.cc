#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> topic_options = {
    {"topics[].name", must_be_given, into([](To& to) { return &to.topic->name; }),
     "The topic's name. Patterns are not supported."},
    {"topics[].database", "postgres", into([](To& to) { return &to.topic->database; }),
     "The PostgreSQL server that has the topic's fences, ledger, dead letters and sink: "
     "`postgres`, or a name in `databases`.",
     "A new server does not know what was applied on the previous one: the topic halts until "
     "`onceward offsets --set` says where it begins there."},
    {"topics[].format", "json",
     into([](To& to) { return &to.topic->format.format; }, {"json", "protobuf", "raw", "avro"}),
     "What the payload is. `avro` needs a `registry`. `raw` reads nothing in it: keys and columns "
     "then come from headers, the "
     "record's key and metadata."},
    {"topics[].framing", "none",
     into([](To& to) { return &to.topic->format.framing; }, {"none", "confluent"}),
     "`confluent`: a byte 0, a schema id and, for Protobuf, the message's index are before the "
     "payload."},
    {"topics[].registry", "<the only one, where the format needs one>",
     into([](To& to) { return &to.topic->registry; }),
     "The registry that has the messages' schemas: a name in `registries`. It implies `framing: "
     "confluent`, in which each message names its schema. JSON is read without its schema.",
     "A partition is read no further while the schema of its next message cannot be fetched. A "
     "message whose schema the registry does not have goes to the dead letters."},
    {"topics[].envelope", "none",
     into([](To& to) { return &to.topic->format.envelope; }, {"none", "connect", "debezium"}),
     "`connect` (JSON only) reads `payload` of a Connect record, `debezium` (JSON or Avro) the row "
     "of a change event (`after`, or `before` of a delete). A schema in the message says which "
     "values are dates, times and decimals, see docs/debezium.md."},
    {"topics[].protobuf.descriptor_set", "",
     into([](To& to) { return &to.topic->format.descriptor_set; }),
     "A file that `protoc --include_imports --descriptor_set_out` wrote; relative to this "
     "configuration's folder."},
    {"topics[].protobuf.proto_files", "",
     into([](To& to) { return &to.topic->format.proto_files; }),
     "Instead of a descriptor set: the .proto files themselves."},
    {"topics[].protobuf.proto_paths", "",
     into([](To& to) { return &to.topic->format.proto_paths; }),
     "Folders in which imports are looked up; the files' own are among them."},
    {"topics[].protobuf.message", "", into([](To& to) { return &to.topic->format.message; }),
     "The message's full name, such as `shop.v1.Payment`."},
    {"topics[].tombstones", "reject",
     into([](To& to) { return &to.topic->format.tombstones; }, {"delete", "skip", "reject"}),
     "What a null payload means: `delete` the sink's row (upsert only), `skip` and count it, or "
     "`reject` it as a bad message."},
    {"topics[].rowless", "reject",
     into([](To& to) { return &to.topic->format.rowless; }, {"reject", "skip"}),
     "What an event of `envelope: debezium` without a row means, which is a truncate or a logical "
     "message: `reject` it as a bad message, or `skip` and count it. Rows stay where they are "
     "either way."},
    {"topics[].start", "committed", into([](To& to) { return &to.topic->start; }),
     "Where reading begins while the group has no fence of the topic: `committed` (Kafka's offset "
     "of this group), `earliest`, `latest`, or a time such as `2026-01-31T12:00:00Z`. A partition "
     "that is added to the topic later begins at its earliest offset."},
    {"topics[].start_fallback", "earliest",
     into([](To& to) { return &to.topic->start.fallback; }, {"earliest", "latest"}),
     "With `start: committed`, where reading begins if nothing is committed.",
     "`latest` skips what the topic holds now."},
    {"topics[].on_out_of_range", "halt",
     into([](To& to) { return &to.topic->on_out_of_range; }, {"halt", "earliest", "latest"}),
     "What to do when the log no longer holds the fence's offset. `halt` halts the partition, and "
     "a log line names the offsets that are gone.",
     "`earliest` and `latest` continue, and the offsets in between are lost."},
    {"topics[].on_reject", "dead_letter",
     into([](To& to) { return &to.topic->reject.action; }, {"dead_letter", "halt"}),
     "What to do with a message that cannot be applied: write it to the dead letters, in the same "
     "transaction, or halt the topic."},
    {"topics[].reject_cap.share", "0.5",
     into([](To& to) { return &to.topic->reject.cap_share; }, {0, 1}),
     "Beyond this share of rejected messages within the window the topic halts: a bad deploy must "
     "not empty a topic into the dead letters. 1 never halts."},
    {"topics[].reject_cap.window", "60s",
     into([](To& to) { return &to.topic->reject.cap_window; }, {1000, day}),
     "The time over which that share is taken."},
    {"topics[].reject_cap.minimum", "1000",
     into([](To& to) { return &to.topic->reject.cap_minimum; }, {1, 1'000'000'000}),
     "Fewer rejected messages than this within the window never halt."},
    {"topics[].retries.attempts", "0",
     into([](To& to) { return &to.topic->reject.retries; }, {0, 1000}),
     "How often a message is tried again before it is rejected, if the reason may be temporary: an "
     "error that your own function or trigger raised (SQLSTATE classes P0, 38, 39), or a foreign "
     "key whose other row is not there yet (23503). Nothing else is tried again.",
     "Its partition waits: it is not read until the message is applied or has used up its tries. "
     "Counted in memory; a worker that takes the partition over starts at 0."},
    {"topics[].retries.backoff", "1s",
     into([](To& to) { return &to.topic->reject.retry_backoff; }, {10, 300'000}),
     "The pause before the first of these tries. Each further pause is twice as long, up to five "
     "minutes, and all vary by a quarter at random."},
    {"topics[].order", "by_partition",
     into([](To& to) { return &to.topic->reject.order; }, {"by_partition", "by_key"}),
     "What a dead letter means for the messages after it. `by_partition`: nothing, they are "
     "applied in offset order without it. `by_key`: as long as a dead letter of a record key is "
     "open (Kafka's own key, not the idempotency key), each further message with that key becomes "
     "a dead letter of the class `behind`. Messages without a record key are not affected.",
     "`by_key` checks the open dead letters in each transaction: one probe if the topic has none, "
     "else one for each message; a batch that has such a key is done twice."},
    {"topics[].hot_key.most", "0",
     into([](To& to) { return &to.topic->reject.hot_key.most; }, {0, 1'000'000'000}),
     "The number of messages with the same idempotency key within a window that are processed as "
     "usual: one is applied, the others are duplicates. Further ones go to the dead letters, with "
     "the class `hot_key`, without a look into the ledger. 0: any number. Not with `store: lease`.",
     "Two look-ups in memory for each message, 0.4 us. Each worker counts for itself, and again "
     "after a restart; above 65,536 keys within a window it may count too few, never too many. A "
     "further copy gets no reply."},
    {"topics[].hot_key.within", "60s",
     into([](To& to) { return &to.topic->reject.hot_key.within; }, {1000, day}),
     "How long a window is. Windows follow one another, by the messages' own timestamps, so up to "
     "twice as many may pass where two windows meet."},
};

}  // namespace onceward
