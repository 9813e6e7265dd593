#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> key_and_ledger_options = {
    {"topics[].key.preset",
     "",
     {OptionType::choice,
      [](To& to, const In& value) {
          const std::string name(std::get<Choice>(value).name);
          to.topic->key.sources = key_preset(name).value();
      },
      {"idempotency-key", "cloudevents", "debezium-outbox", "debezium-postgres", "masstransit",
       "nservicebus", "kafka-coordinates", "body-sha256"}},
     "A well-known place of the key (see *Sources of a key* below). Give this or `sources`.",
     "`kafka-coordinates` only finds what Kafka itself delivers twice; with `body-sha256` two "
     "equal orders are one."},
    {"topics[].key.sources", "", into([](To& to) { return &to.topic->key.sources; }),
     "Where the key may be; the first one that the message has is used. `{fields: [PATH, PATH]}` "
     "makes one key of several fields: the JSON array of their texts, `[\"acme\",\"17\"]`; a "
     "message without one of them has no key."},
    {"topics[].key.operation", "<group>/<topic>",
     into([](To& to) { return &to.topic->key.operation; }),
     "The operation that the key belongs to. Topics that carry the same commands name the same "
     "operation; a key of one operation is never a duplicate in another.",
     "Another name makes every key new."},
    {"topics[].key.tenant", "", into([](To& to) { return &to.topic->key.tenant; }),
     "Where the tenant is, if keys are unique only within a tenant. A message without it has no "
     "key."},
    {"topics[].key.length_min", "1",
     into([](To& to) { return &to.topic->key.length_min; }, {1, 1 << 20}),
     "Shortest key, in bytes."},
    {"topics[].key.length_max", "255",
     into([](To& to) { return &to.topic->key.length_max; }, {1, 1 << 20}),
     "Longest key, in bytes."},
    {"topics[].key.charset", "any",
     into([](To& to) { return &to.topic->key.charset; }, {"any", "ascii_printable", "uuid"}),
     "What a key may consist of. `any` still refuses a NUL byte."},
    {"topics[].key.pattern", "", into([](To& to) { return &to.topic->key.pattern; }),
     "An ECMAScript regular expression that the whole key must match.",
     "Costs time for every message."},
    {"topics[].key.on_missing", "reject",
     into([](To& to) { return &to.topic->key.on_missing; }, {"reject", "derive", "skip"}),
     "A message without a key: `reject` it, `derive` one from topic, partition and offset, or "
     "`skip` and count it.",
     "With `derive`, a message that was produced twice is applied twice."},
    {"topics[].key.on_invalid", "reject",
     into([](To& to) { return &to.topic->key.on_invalid; }, {"reject", "derive", "skip"}),
     "The same for a key that breaks the rules above."},
    {"topics[].key.fingerprint", "none", into([](To& to) { return &to.topic->key.fingerprint; }),
     "What has to be the same in a duplicate: the raw `payload`, byte by byte, or these `fields` "
     "of it (paths, as for a column), in canonical form (RFC 8785), so that the order of members, "
     "white space and ways to write a number do not count. A difference is a conflict, which is "
     "neither applied nor a duplicate. With `none` any message with the same key is a duplicate.",
     "16 bytes more for each claim, with `store: log` 32 to 64 in memory until it is sealed. With "
     "`fields` each payload is read, a duplicate's too. If you change the fingerprint, each repeat "
     "of a claimed key is a conflict: write `none` for one retention in between."},
    {"topics[].key.minted_at", "none", into([](To& to) { return &to.topic->key.minted_at; }),
     "Where the time is at which a key was minted. With it a key that is older than what the "
     "ledger remembers goes to the dead letters, with the class `late_key`, instead of being "
     "taken for a new one. `uuid7`: in the key. `ce_time`: a CloudEvent's `time`. `{header: NAME}` "
     "or `{field: PATH}`: RFC 3339 with its zone, or milliseconds since 1970 UTC. Not with "
     "`store: log` or `auto`.",
     "The time joins the fingerprint: the same key with another time is a conflict. A message "
     "without the time is invalid. One round trip more for each batch."},
    {"topics[].key.on_conflict", "<as on_reject>",
     into([](To& to) { return &to.topic->reject.on_conflict; }, {"dead_letter", "ignore", "halt"}),
     "What to do with a conflict. `dead_letter` stores it with the class `conflict`, both "
     "fingerprints and the place of the message that has the key. `ignore` only counts it. `halt` "
     "halts the topic before it.",
     "With `ignore`, the message is stored nowhere: it exists only in its topic."},
    {"topics[].ledger.name", "<group>/<topic>", into([](To& to) { return &to.ledger.name; }),
     "Topics that name the same ledger share their claims: a key that came in one is a duplicate "
     "in the other, if the operations are the same too. For a route the default is "
     "`<group>/<method> <path>`."},
    {"topics[].ledger.store",
     "<auto; table where results are stored, requests claim or key.minted_at is given>",
     {OptionType::choice,
      [](To& to, const In& value) {
          const Choice& choice = std::get<Choice>(value);
          to.ledger.any_store = choice.name == "auto";
          to.ledger.store =
              to.ledger.any_store ? StoreKind::log : static_cast<StoreKind>(choice.index);
      },
      {"table", "log", "lease", "auto"}},
     "How claims are kept. `log`: appended without an index, several times as fast; each process "
     "remembers the digests. `table`: plain rows under a unique index, which anyone can query, and "
     "in which `once()` and the inbox can claim as well. Both are exact. `auto`, only for topics: "
     "the store that an existing ledger has, table or log, even if `onceward ledger convert` "
     "changes it while the workers run; a new ledger is a `log`. "
     "`lease`, only with a `webhook` or an `upstream`: each key is claimed in one "
     "transaction and its end is written in another.",
     "`log` takes memory in each process: 22 to 43 bytes a claim until its table is sealed "
     "(`rotate_claims`), 1.1 to 2.3 after that, and no more than `memory.claims`; with `reach: "
     "partition` only for its own partitions."},
    {"topics[].ledger.reach", "global",
     into([](To& to) { return &to.ledger.reach; }, {"global", "partition"}),
     "`global`: a duplicate is found in any partition. `partition`, with `store: log`: only within "
     "its partition, for producers that key the record by the idempotency key.",
     "With `partition` a key that comes in two partitions is applied twice; do not change the "
     "topic's number of partitions."},
    {"topics[].ledger.retention", "24h",
     into([](To& to) { return &to.ledger.retention; }, {1000, 3660 * day}),
     "The shortest time that a claim is kept, in the log's time: a duplicate that becomes readable "
     "within this after its original was applied is found, however long the workers were down.",
     "A longer value takes more disk."},
    {"topics[].ledger.rotate_after", "3h",
     into([](To& to) { return &to.ledger.rotate_after; }, {100, 3660 * day}),
     "The current table of claims is sealed at this age. Whole tables expire. It must not be "
     "longer than `retention`.",
     "A shorter value frees disk sooner, and each sealed table costs one more probe for each "
     "batch."},
    {"topics[].ledger.rotate_claims", "<2000000 for a `log` with `reach: global`, else 50000000>",
     into([](To& to) { return &to.ledger.rotate_claims; }, {1000}),
     "The current table is sealed when it has this many claims (about 100 bytes each, in a `log` "
     "about 17). A log's table is sealed earlier if recent claims take half of `memory.claims` in "
     "a process. With `reach: global` a log's sealed tables are merged, so that small ones do not "
     "become many, unless the ledger stores results.",
     "As for `rotate_after`. A larger number takes more memory in each process if the ledger is a "
     "`log`."},
    {"topics[].ledger.purge_hours", "<always>", into([](To& to) { return &to.ledger.purge_hours; }),
     "If set, expired claims are dropped only within these hours of the day, in UTC, so that "
     "dropping their tables does not fall into the busy hours: `22:00-04:00` passes midnight. "
     "Sealing continues at any time, because the batches need it; so a `log` drops tables at any "
     "time whose claims are in another table by then.",
     "Claims and their disk stay up to a day longer; an alert on claims that are held back has to "
     "allow for it. A process that does not run within the hours purges nothing."},
    {"topics[].ledger.lease", "60s", into([](To& to) { return &to.ledger.lease; }, {100, day}),
     "With `store: lease`: how long a key stays with a worker that sends no heartbeat. A worker "
     "extends it while it works. At least twice a call's time-out, and shorter than the retention.",
     "With a longer value the messages of a crashed worker wait longer. With a shorter one a call "
     "of a worker that was only slow is repeated sooner."},
};

}  // namespace onceward
