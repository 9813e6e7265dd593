#include "cli/configuration/option_table.h"
#include "cli/configuration/values.h"

namespace onceward {
namespace {

constexpr const char* opening = R"(# Configuration

This page is written by `onceward config reference`, from the table that the loader itself uses.

A configuration is one YAML file. `onceward init` prints an annotated one to start from,
`onceward check -c FILE` finds mistakes without opening a connection, and
`schemas/config.schema.json` lets an editor complete and check. Unknown and repeated options,
missing units and combinations that cannot work are errors, each with its line and what to write
instead. Anchors, aliases and tags are not allowed.

**Units.** Durations: `ms`, `s`, `m`, `h`, `d`, as in `500ms`, `24h`. Sizes: `B`, `KB`, `MB`, `GB`
(powers of 1000), `KiB`, `MiB`, `GiB` (powers of 1024). Whole numbers only.

**Variables.** `${NAME}`, `${NAME:-default}`, `${NAME:?message}` and `${file:path}` (without its
last newline; relative to the configuration's folder) are put into values after the YAML was read,
so what they hold cannot add options. `$$` is a `$`. A variable that is not set is a warning in
`check`, and in `describe` if the contract does not depend on it; it is an error with `--strict-env`
and in all other commands.

**Secrets** (each `dsn`, passwords and keys among librdkafka's properties) are never printed,
neither in logs nor in messages about mistakes.
)";

constexpr const char* sources_section = R"(## Sources

Where a column, a key or a tenant comes from.

| written as | means |
|---|---|
| `/order/id` or `{field: /order/id}` | JSON: a JSON pointer (RFC 6901), `''` is the whole payload |
| `order.id` or `{field: order.id}` | Protobuf: a dotted path |
| `{header: NAME}` | a header; the last one where it is repeated |
| `{metadata: NAME}` | `topic`, `partition`, `offset`, `timestamp`, `record_key`, `payload` (raw) |
| `{key: NAME}` | of the idempotency key: `text`, `digest` (a UUID), `downstream` (also a UUID) |
| `{constant: TEXT}` | always this text |

Names of Kafka headers are case-sensitive.

A column's mapping may add `required: true`: a message without the value is rejected; else the
column is NULL.

## Conversions

A column's mapping (of a table or a function, of an outbox's `fields` and `headers`) may also add
these. [Values and columns](types.md#conversions) has each conversion with an example.

| option | means |
|---|---|
| `convert` | one conversion, or a list of them that are applied in order |
| `default` | the value if the message has none or it is null; no conversion is applied to it |
| `lossy` | for digits that the type cannot keep: `refuse` (default), `round` or `truncate` |

A message whose value is refused is rejected (`unmappable`).
Key and fingerprint are made of the values as they are in the message, before any conversion.

## Sources of a key

An entry of `key.sources` is one of `{header: NAME}`, `{field: PATH}`, `{fields: [PATH, PATH]}`
(one key of several fields), `record_key`, `cloudevents` (source and id), `coordinates` (topic,
partition, offset) or `payload_sha256`. With
`strip_quotes: true` a header that begins with a quote is read as a string of RFC 8941, as an HTTP
request's key is: its parameters are ignored, and any other value is an invalid key. A key
found in a header is another key than the same text in the record's key; two sources with the same
`kind: NAME` share their keys.

| `key.preset` | where the key is |
|---|---|
| `idempotency-key` | the header `Idempotency-Key` or `idempotency-key`, with or without quotes |
| `cloudevents` | the headers `ce_source` and `ce_id`, or `/source` and `/id` of structured JSON |
| `debezium-outbox` | the header `id` |
| `debezium-postgres` | a [change's place in the log](debezium.md#keys), with the record's key |
| `masstransit` | the header `MessageId`, else `/messageId` of a JSON payload |
| `nservicebus` | the header `NServiceBus.MessageId` |
| `kafka-coordinates` | the topic's id, the partition and the offset |
| `body-sha256` | a SHA-256 of the payload |

Both spellings of the first one are one kind of key, `header:Idempotency-Key`. Structured JSON has
the content type `application/cloudevents+json`.

## What is refused among librdkafka's properties

What would break the guarantee: `enable.auto.commit`, `enable.auto.offset.store`,
`auto.offset.reset`, `isolation.level: read_uncommitted`, `check.crcs: false`,
`enable.partition.eof: false`, `group.id`, `group.instance.id`, `allow.auto.create.topics: true`,
`plugin.library.paths`. Each is refused with the reason and the option to use instead.
)";

std::string type_text(const OptionSpec& spec) {
    switch (spec.bind.type) {
        case OptionType::text: return "text";
        case OptionType::secret: return "text, secret";
        case OptionType::integer: return "whole number";
        case OptionType::number: return "number";
        case OptionType::duration: return "duration";
        case OptionType::size: return "size";
        case OptionType::hours: return "`HH:MM-HH:MM`";
        case OptionType::texts: return "list of texts";
        case OptionType::properties: return "mapping";
        case OptionType::attributes: return "mapping from name to text";
        case OptionType::headers: return "mapping from name to value, secret";
        case OptionType::start: return "`committed`, `earliest`, `latest` or a time";
        case OptionType::key_sources: return "list of key sources";
        case OptionType::source: return "source";
        case OptionType::columns: return "mapping from column to source";
        case OptionType::fingerprint:
            return "`none`, `" + whole_of(spec) + "` or `{fields: [PATH, ...]}`";
        case OptionType::minted:
            return "`none`, `uuid7`, `ce_time`, `{header: NAME}` or `{field: PATH}`";
        case OptionType::choice: break;
    }
    std::string text;
    for (const std::string_view choice : spec.bind.choices) {
        text += (text.empty() ? "`" : ", `") + std::string(choice) + "`";
    }
    return text;
}

std::string limits(const OptionSpec& spec) {
    const bool counted =
        spec.bind.type == OptionType::integer || spec.bind.type == OptionType::number ||
        spec.bind.type == OptionType::duration || spec.bind.type == OptionType::size;
    if (!counted) return {};
    std::string text = ", " + limit_text(spec, spec.bind.limits.minimum);
    return text + (spec.bind.limits.maximum == INT64_MAX
                       ? " or more"
                       : " to " + limit_text(spec, spec.bind.limits.maximum));
}

}  // namespace

std::string configuration_reference() {
    std::string page = std::string(opening) + "\n";
    std::string section = "none yet";
    for (const OptionSpec& spec : option_table()) {
        const std::size_t dot = spec.path.rfind('.');
        const std::string its_section = dot == std::string::npos ? "" : spec.path.substr(0, dot);
        if (its_section != section) {
            section = its_section;
            page +=
                "## " + (section.empty() ? std::string("Top level") : "`" + section + "`") + "\n\n";
        }
        page += "**`" + spec.path.substr(dot + 1) + "`** (" + type_text(spec) + limits(spec);
        if (spec.required()) {
            page += "; required";
        } else if (!spec.default_text.empty()) {
            page += "; default `" + spec.default_text + "`";
        }
        page += "): " + spec.meaning;
        if (!spec.cost.empty()) page += " *Cost:* " + spec.cost;
        page += "\n\n";
    }
    return page + sources_section;
}

}  // namespace onceward
