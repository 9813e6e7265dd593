#include "cli/configuration/option_table.h"

namespace onceward {
namespace {

using To = OptionTarget;
using In = OptionValue;

const OptionSpec ledger_entries[] = {
    {.path = "topics[].ledger.name",
     .default_text = "<group>/<topic>",
     .meaning = "Topics that name the same ledger share their claims: a key that came in one is a "
                "duplicate in the other, if the operations are the same too. For a route the "
                "default is `<group>/<method> <path>`.",
     .bind = [](To& to, const In& value) { to.ledger->name = value.text; }},
    {.path = "topics[].ledger.store",
     .type = OptionType::choice,
     .default_text = "table",
     .meaning = "How claims are kept. `table`: plain rows under a unique index, which anyone can "
                "query. `log`: appended without an index, several times as fast; each process "
                "remembers the digests. Both are exact. `lease`, with a `webhook` or an `upstream` "
                "alone: each key is claimed in one transaction and its end is written in another.",
     .cost = "`log` takes memory in each process: 22 to 43 bytes a claim until its table is sealed "
             "(`rotate_claims`), about 2.3 after that; with `reach: partition` only for its own "
             "partitions. A process reads as much when it starts.",
     .bind = [](To& to,
                const In& value) { to.ledger->store = static_cast<StoreKind>(value.choice); },
     .choices = {"table", "log", "lease"}},
    {.path = "topics[].ledger.reach",
     .type = OptionType::choice,
     .default_text = "global",
     .meaning = "`global`: a duplicate is found in any partition. `partition`, with `store: log`: "
                "only within its partition, for producers that key the record by the idempotency "
                "key.",
     .cost = "With `partition` a key that comes in two partitions is applied twice; do not change "
             "the topic's number of partitions.",
     .bind = [](To& to, const In& value) { to.ledger->reach = static_cast<Reach>(value.choice); },
     .choices = {"global", "partition"}},
    {.path = "topics[].ledger.retention",
     .type = OptionType::duration,
     .default_text = "24h",
     .meaning = "The shortest time that a claim is kept, in the log's time: a duplicate that "
                "becomes readable within this after its original was applied is found, however "
                "long the workers were down.",
     .cost = "Longer takes more disk.",
     .bind =
         [](To& to, const In& value) {
             to.ledger->retention =
                 std::chrono::duration_cast<std::chrono::seconds>(value.duration);
         },
     .minimum = 1000,
     .maximum = std::int64_t{3660} * 86'400'000},
    {.path = "topics[].ledger.rotate_after",
     .type = OptionType::duration,
     .default_text = "3h",
     .meaning = "The current table of claims is sealed at this age. Whole tables expire.",
     .cost = "Shorter frees disk sooner; every sealed table costs one more probe a batch.",
     .bind = [](To& to, const In& value) { to.ledger->rotate_after = value.duration; },
     .minimum = 100,
     .maximum = std::int64_t{3660} * 86'400'000},
    {.path = "topics[].ledger.rotate_claims",
     .type = OptionType::integer,
     .default_text = "50000000",
     .meaning = "The current table is also sealed at this number of claims (about 100 bytes "
                "each; of a log about 17).",
     .cost = "As for `rotate_after`.",
     .bind = [](To& to, const In& value) { to.ledger->rotate_claims = value.integer; },
     .minimum = 1000},
    {.path = "topics[].ledger.purge_hours",
     .type = OptionType::hours,
     .default_text = "<always>",
     .meaning = "If set, expired claims are dropped only within these hours of the day, in UTC, so "
                "that dropping their tables does not fall into the busy hours: `22:00-04:00` "
                "passes midnight. Sealing continues at any time, because the batches need it.",
     .cost = "Claims and their disk stay up to a day longer; an alert on claims that are held back "
             "has to allow for it. A process that does not run within the hours purges nothing.",
     .bind = [](To& to, const In& value) { to.ledger->purge_hours = value.hours; }},
    {.path = "topics[].ledger.lease",
     .type = OptionType::duration,
     .default_text = "60s",
     .meaning = "With `store: lease`: how long a key stays with a worker that sends no heartbeat. "
                "A worker extends it while it works. At least twice a call's time-out, and shorter "
                "than the retention.",
     .cost = "Longer: the messages of a crashed worker wait longer. Shorter: a call of a worker "
             "that was only slow is repeated sooner.",
     .bind = [](To& to, const In& value) { to.ledger->lease = value.duration; },
     .minimum = 100,
     .maximum = 86'400'000},
};

const OptionSpec key_entries[] = {
    {.path = "topics[].key.preset",
     .type = OptionType::choice,
     .meaning = "A well-known place of the key. Give this or `sources`.",
     .cost = "`kafka-coordinates` only finds what Kafka itself delivers twice; with `body-sha256` "
             "two equal orders are one.",
     .bind =
         [](To& to, const In& value) {
             static const std::vector<std::string> names = key_preset_names();
             to.topic->key.sources = key_preset(names.at(value.choice)).value();
         },
     .choices = {"idempotency-key", "cloudevents", "debezium-outbox", "masstransit", "nservicebus",
                 "kafka-coordinates", "body-sha256"}},
    {.path = "topics[].key.sources",
     .type = OptionType::key_sources,
     .meaning = "Where the key may be; the first one that the message has is used.",
     .bind = [](To& to, const In& value) { to.topic->key.sources = value.key_sources; }},
    {.path = "topics[].key.operation",
     .default_text = "<group>/<topic>",
     .meaning = "The operation that the key belongs to. Topics that carry the same commands name "
                "the same operation; a key of one operation is never a duplicate in another.",
     .cost = "Another name makes every key new.",
     .bind = [](To& to, const In& value) { to.topic->key.operation = value.text; }},
    {.path = "topics[].key.tenant",
     .type = OptionType::source,
     .meaning = "Where the tenant is, if keys are unique only within a tenant. A message without "
                "it has no key.",
     .bind = [](To& to, const In& value) { to.topic->key.tenant = value.source; }},
    {.path = "topics[].key.length_min",
     .type = OptionType::integer,
     .default_text = "1",
     .meaning = "Shortest key, in bytes.",
     .bind =
         [](To& to, const In& value) {
             to.topic->key.length_min = static_cast<std::size_t>(value.integer);
         },
     .minimum = 1,
     .maximum = 1 << 20},
    {.path = "topics[].key.length_max",
     .type = OptionType::integer,
     .default_text = "255",
     .meaning = "Longest key, in bytes.",
     .bind =
         [](To& to, const In& value) {
             to.topic->key.length_max = static_cast<std::size_t>(value.integer);
         },
     .minimum = 1,
     .maximum = 1 << 20},
    {.path = "topics[].key.charset",
     .type = OptionType::choice,
     .default_text = "any",
     .meaning = "What a key may consist of. `any` still refuses a NUL byte.",
     .bind =
         [](To& to, const In& value) {
             to.topic->key.charset = static_cast<KeyOptions::Charset>(value.choice);
         },
     .choices = {"any", "ascii_printable", "uuid"}},
    {.path = "topics[].key.pattern",
     .meaning = "An ECMAScript regular expression that the whole key must match.",
     .cost = "Costs time for every message.",
     .bind = [](To& to, const In& value) { to.topic->key.pattern = value.text; }},
    {.path = "topics[].key.on_missing",
     .type = OptionType::choice,
     .default_text = "reject",
     .meaning = "A message without a key: `reject` it, `derive` one from topic, partition and "
                "offset, or `skip` and count it.",
     .cost = "`derive` applies a message that was produced twice twice.",
     .bind =
         [](To& to, const In& value) {
             to.topic->key.on_missing = static_cast<KeyPolicy>(value.choice);
         },
     .choices = {"reject", "derive", "skip"}},
    {.path = "topics[].key.on_invalid",
     .type = OptionType::choice,
     .default_text = "reject",
     .meaning = "The same for a key that breaks the rules above.",
     .bind =
         [](To& to, const In& value) {
             to.topic->key.on_invalid = static_cast<KeyPolicy>(value.choice);
         },
     .choices = {"reject", "derive", "skip"}},
    {.path = "topics[].key.fingerprint",
     .type = OptionType::fingerprint,
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
     .bind = [](To& to, const In& value) { to.topic->key.fingerprint = value.fingerprint; }},
    {.path = "topics[].key.on_conflict",
     .type = OptionType::choice,
     .default_text = "<as on_reject>",
     .meaning = "What to do with a conflict: into the dead letters, with the class `conflict`, "
                "both fingerprints and the place of the message that has the key; `ignore` it, so "
                "that it is counted and nothing else; or stop the topic before it.",
     .cost = "What `ignore` passes exists only in the topic that it came from.",
     .bind =
         [](To& to, const In& value) {
             to.topic->reject.on_conflict = static_cast<RejectPolicy::OnConflict>(value.choice);
         },
     .choices = {"dead_letter", "ignore", "halt"}},
};

}  // namespace

std::vector<OptionSpec> key_and_ledger_options() {
    std::vector<OptionSpec> options(std::begin(key_entries), std::end(key_entries));
    options.insert(options.end(), std::begin(ledger_entries), std::end(ledger_entries));
    return options;
}

}  // namespace onceward
