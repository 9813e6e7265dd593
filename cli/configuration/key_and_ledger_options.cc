#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> key_and_ledger_options = {
    {.path = "topics[].key.preset",
     .meaning = "A well-known place of the key. Give this or `sources`.",
     .cost = "`kafka-coordinates` only finds what Kafka itself delivers twice; with `body-sha256` "
             "two equal orders are one.",
     .bind = {OptionType::choice,
              [](To& to, const In& value) {
                  static const std::vector<std::string> names = key_preset_names();
                  to.topic->key.sources =
                      key_preset(names.at(std::get<Choice>(value).index)).value();
              }},
     .choices = {"idempotency-key", "cloudevents", "debezium-outbox", "masstransit", "nservicebus",
                 "kafka-coordinates", "body-sha256"}},
    {.path = "topics[].key.sources",
     .meaning = "Where the key may be; the first one that the message has is used.",
     .bind = into([](To& to) { return &to.topic->key.sources; })},
    {.path = "topics[].key.operation",
     .default_text = "<group>/<topic>",
     .meaning = "The operation that the key belongs to. Topics that carry the same commands name "
                "the same operation; a key of one operation is never a duplicate in another.",
     .cost = "Another name makes every key new.",
     .bind = into([](To& to) { return &to.topic->key.operation; })},
    {.path = "topics[].key.tenant",
     .meaning = "Where the tenant is, if keys are unique only within a tenant. A message without "
                "it has no key.",
     .bind = into([](To& to) { return &to.topic->key.tenant; })},
    {.path = "topics[].key.length_min",
     .default_text = "1",
     .meaning = "Shortest key, in bytes.",
     .bind = into([](To& to) { return &to.topic->key.length_min; }),
     .limits = {1, 1 << 20}},
    {.path = "topics[].key.length_max",
     .default_text = "255",
     .meaning = "Longest key, in bytes.",
     .bind = into([](To& to) { return &to.topic->key.length_max; }),
     .limits = {1, 1 << 20}},
    {.path = "topics[].key.charset",
     .default_text = "any",
     .meaning = "What a key may consist of. `any` still refuses a NUL byte.",
     .bind = into([](To& to) { return &to.topic->key.charset; }),
     .choices = {"any", "ascii_printable", "uuid"}},
    {.path = "topics[].key.pattern",
     .meaning = "An ECMAScript regular expression that the whole key must match.",
     .cost = "Costs time for every message.",
     .bind = into([](To& to) { return &to.topic->key.pattern; })},
    {.path = "topics[].key.on_missing",
     .default_text = "reject",
     .meaning = "A message without a key: `reject` it, `derive` one from topic, partition and "
                "offset, or `skip` and count it.",
     .cost = "`derive` applies a message that was produced twice twice.",
     .bind = into([](To& to) { return &to.topic->key.on_missing; }),
     .choices = {"reject", "derive", "skip"}},
    {.path = "topics[].key.on_invalid",
     .default_text = "reject",
     .meaning = "The same for a key that breaks the rules above.",
     .bind = into([](To& to) { return &to.topic->key.on_invalid; }),
     .choices = {"reject", "derive", "skip"}},
    {.path = "topics[].key.fingerprint",
     .default_text = "none",
     .meaning = "What has to be the same in a duplicate: the raw `payload`, byte by byte, or these "
                "`fields` of it (paths, as for a column), in canonical form (RFC 8785), so that "
                "the order of members, white space and ways to write a number do not count. A "
                "difference is a conflict, which is neither applied nor a duplicate. With `none` "
                "any message with the same key is a duplicate.",
     .cost = "16 bytes more for each claim, with `store: log` 32 to 64 in memory until it is "
             "sealed. With `fields` each payload is read, a duplicate's too. If you change the "
             "fingerprint, each repeat of a claimed key is a conflict: write `none` for one "
             "retention in between.",
     .bind = into([](To& to) { return &to.topic->key.fingerprint; })},
    {.path = "topics[].key.on_conflict",
     .default_text = "<as on_reject>",
     .meaning = "What to do with a conflict: into the dead letters, with the class `conflict`, "
                "both fingerprints and the place of the message that has the key; `ignore` it, so "
                "that it is counted and nothing else; or stop the topic before it.",
     .cost = "What `ignore` passes exists only in the topic that it came from.",
     .bind = into([](To& to) { return &to.topic->reject.on_conflict; }),
     .choices = {"dead_letter", "ignore", "halt"}},
    {.path = "topics[].ledger.name",
     .default_text = "<group>/<topic>",
     .meaning = "Topics that name the same ledger share their claims: a key that came in one is a "
                "duplicate in the other, if the operations are the same too. For a route the "
                "default is `<group>/<method> <path>`.",
     .bind = into([](To& to) { return &to.ledger->name; })},
    {.path = "topics[].ledger.store",
     .default_text = "table",
     .meaning = "How claims are kept. `table`: plain rows under a unique index, which anyone can "
                "query. `log`: appended without an index, several times as fast; each process "
                "remembers the digests. Both are exact. `lease`, with a `webhook` or an `upstream` "
                "alone: each key is claimed in one transaction and its end is written in another.",
     .cost = "`log` takes memory in each process: 22 to 43 bytes a claim until its table is sealed "
             "(`rotate_claims`), about 2.3 after that; with `reach: partition` only for its own "
             "partitions. A process reads as much when it starts.",
     .bind = into([](To& to) { return &to.ledger->store; }),
     .choices = {"table", "log", "lease"}},
    {.path = "topics[].ledger.reach",
     .default_text = "global",
     .meaning =
         "`global`: a duplicate is found in any partition. `partition`, with `store: log`: only "
         "within its partition, for producers that key the record by the idempotency key.",
     .cost = "With `partition` a key that comes in two partitions is applied twice; do not change "
             "the topic's number of partitions.",
     .bind = into([](To& to) { return &to.ledger->reach; }),
     .choices = {"global", "partition"}},
    {.path = "topics[].ledger.retention",
     .default_text = "24h",
     .meaning = "The shortest time that a claim is kept, in the log's time: a duplicate that "
                "becomes readable within this after its original was applied is found, however "
                "long the workers were down.",
     .cost = "Longer takes more disk.",
     .bind = into([](To& to) { return &to.ledger->retention; }),
     .limits = {1000, std::int64_t{3660} * 86'400'000}},
    {.path = "topics[].ledger.rotate_after",
     .default_text = "3h",
     .meaning = "The current table of claims is sealed at this age. Whole tables expire.",
     .cost = "Shorter frees disk sooner; every sealed table costs one more probe a batch.",
     .bind = into([](To& to) { return &to.ledger->rotate_after; }),
     .limits = {100, std::int64_t{3660} * 86'400'000}},
    {.path = "topics[].ledger.rotate_claims",
     .default_text = "50000000",
     .meaning = "The current table is also sealed at this number of claims (about 100 bytes "
                "each; of a log about 17).",
     .cost = "As for `rotate_after`.",
     .bind = into([](To& to) { return &to.ledger->rotate_claims; }),
     .limits = {1000}},
    {.path = "topics[].ledger.purge_hours",
     .default_text = "<always>",
     .meaning = "If set, expired claims are dropped only within these hours of the day, in UTC, so "
                "that dropping their tables does not fall into the busy hours: `22:00-04:00` "
                "passes midnight. Sealing continues at any time, because the batches need it.",
     .cost = "Claims and their disk stay up to a day longer; an alert on claims that are held back "
             "has to allow for it. A process that does not run within the hours purges nothing.",
     .bind = into([](To& to) { return &to.ledger->purge_hours; })},
    {.path = "topics[].ledger.lease",
     .default_text = "60s",
     .meaning = "With `store: lease`: how long a key stays with a worker that sends no heartbeat. "
                "A worker extends it while it works. At least twice a call's time-out, and shorter "
                "than the retention.",
     .cost = "Longer: the messages of a crashed worker wait longer. Shorter: a call of a worker "
             "that was only slow is repeated sooner.",
     .bind = into([](To& to) { return &to.ledger->lease; }),
     .limits = {100, 86'400'000}},
};

}  // namespace onceward
