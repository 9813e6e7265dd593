#include "consumer/intake/message_builder.h"

#include <algorithm>
#include <memory>

#include "consumer/decode/decoder.h"
#include "consumer/decode/registry_decoder.h"
#include "consumer/intake/canonical_json.h"
#include "consumer/intake/key_extractor.h"
#include "dedup/base/expects.h"

namespace onceward {
namespace {

std::size_t size_of(const Record& record) {
    std::size_t bytes = record.key.value_or("").size() + record.payload.value_or("").size();
    for (const Header& header : record.headers) {
        bytes += header.name.size() + header.value.value_or("").size();
    }
    return bytes;
}

// `part` is one that check_source() knows. Absent if the message has no key.
Value key_value(std::string_view part, const Message& message, std::pmr::memory_resource& arena) {
    if (message.key_text.empty()) return {};
    if (part == "text") return text_or_bytes(message.key_text);
    const std::string text =
        part == "digest" ? uuid_text(message.digest) : downstream_key(message.digest);
    return {Value::Kind::text, {}, keep(arena, text)};
}

void require_schema(const std::optional<AwaitedSchema>& awaited, Partition partition,
                    Offset offset) {
    if (!awaited) return;
    throw std::runtime_error("the message in partition " + std::to_string(partition.raw()) +
                             " at offset " + std::to_string(offset.raw()) +
                             " cannot be read: " + awaited->reason);
}

}  // namespace

struct MessageBuilder::State {
    MessageBuilderOptions options;
    Sink& sink;
    KeyExtractor keys;
    bool extract_keys = true;
    FieldsFingerprint fields_fingerprint;
    std::vector<FieldSource> sources;       // what the sink wants
    std::vector<std::size_t> source_paths;  // for those of kind field: which value
    std::unique_ptr<Decoder> decoder;
    // One for each path: first the key's, then the fingerprint's, then those that only the sink
    // wants.
    std::vector<Value> values;
    std::size_t key_values = 0;

    State(MessageBuilderOptions given, Sink& target)
        : options(std::move(given)),
          sink(target),
          keys(options.key, options.consumer_group, options.topic, options.format.format) {}

    // Returns why the schema is not known yet, and leaves the message as it was; else nullopt.
    std::optional<std::string> decode(Message& message, std::pmr::memory_resource& arena) {
        if (!message.record.payload) {
            tombstone(message);
            return std::nullopt;
        }
        Decoded decoded = decoder->decode(message.record, values, arena);
        if (decoded.awaits_schema) return decoded.awaits_schema;
        if (!decoded.rowless.empty() && options.format.rowless == RowlessPolicy::skip) {
            message.skipped = true;
            message.skip_reason = decoded.rowless;
        } else if (decoded.rejection) {
            message.rejection = std::move(decoded.rejection);
        } else if (decoded.tombstone) {
            tombstone(message);
        } else {
            message.operation = decoded.operation;
        }
        return std::nullopt;
    }

    void tombstone(Message& message) {
        std::fill(values.begin(), values.end(), Value{});
        switch (options.format.tombstones) {
            case TombstonePolicy::remove: message.operation = Operation::remove; break;
            case TombstonePolicy::skip:
                message.skipped = true;
                message.skip_reason = "tombstone";
                break;
            case TombstonePolicy::reject:
                message.rejection =
                    Rejection{Rejection::Kind::tombstone,
                              "the payload is null and the topic's tombstone policy is reject",
                              {},
                              1};
                break;
        }
    }

    void fingerprint(Message& message) const {
        fingerprint_content(message);
        message.fingerprint = stamped(message.fingerprint, message.minted_at);
    }

    void fingerprint_content(Message& message) const {
        switch (options.key.fingerprint.of) {
            case FingerprintOptions::Of::none: return;
            case FingerprintOptions::Of::payload:
                // A tombstone counts as an empty payload: it conflicts with a row under the same
                // key.
                message.fingerprint = digest_of_bytes(message.record.payload.value_or(""));
                return;
            case FingerprintOptions::Of::fields: fields_fingerprint.take(message, values); return;
        }
    }

    // A value that does not come from the payload.
    Value other_value(const FieldSource& source, const Message& message,
                      std::pmr::memory_resource& arena) const {
        if (source.kind == FieldSource::Kind::key) return key_value(source.text, message, arena);
        return record_value(source, message.record, options.topic, arena);
    }

    void fill_fields(Message& message, std::pmr::memory_resource& arena) {
        if (sources.empty()) return;
        auto* const fields =
            static_cast<Value*>(arena.allocate(sources.size() * sizeof(Value), alignof(Value)));
        for (std::size_t i = 0; i < sources.size(); ++i) {
            // Copied from place to place. If a function returned the value, it would be written in
            // pieces and then read as a whole at once, and the processor would have to wait for
            // that.
            if (sources[i].kind == FieldSource::Kind::field) {
                std::construct_at(fields + i, values[source_paths[i]]);
            } else {
                std::construct_at(fields + i, other_value(sources[i], message, arena));
            }
        }
        message.fields = {fields, sources.size()};
    }

    void encode(Message& message, std::pmr::memory_resource& arena) {
        fill_fields(message, arena);
        if (std::optional<Rejection> misfit = sink.encode(message, arena)) {
            message.rejection = std::move(misfit);
        }
    }
};

MessageBuilder::MessageBuilder(MessageBuilderOptions options, Sink& sink)
    : state_(std::make_unique<State>(std::move(options), sink)) {
    State& state = *state_;
    std::vector<std::string> paths = state.keys.paths();
    state.key_values = paths.size();
    if (state.options.key.fingerprint.of == FingerprintOptions::Of::fields) {
        std::vector<FieldsFingerprint::Field> fields;
        for (const std::string& path : state.options.key.fingerprint.fields) {
            fields.push_back({path, place_among(paths, path)});
        }
        state.fields_fingerprint = FieldsFingerprint(std::move(fields));
    }
    state.sources = sink.fields();
    for (const FieldSource& source : state.sources) {
        check_source(source);
        const bool field = source.kind == FieldSource::Kind::field;
        state.source_paths.push_back(field ? place_among(paths, source.text) : 0);
    }
    state.values.resize(paths.size());
    state.decoder = state.options.schemas
                        ? make_registry_decoder(state.options.format, std::move(paths),
                                                state.options.schemas)
                        : make_decoder(state.options.format, std::move(paths));
}

MessageBuilder::~MessageBuilder() = default;

void MessageBuilder::set_topic_id(std::string topic_id) {
    state_->keys.set_topic_id(std::move(topic_id));
}

void MessageBuilder::disable_keys() { state_->extract_keys = false; }

std::optional<AwaitedSchema> MessageBuilder::take(Record&& record, Chunk& chunk) {
    return take(std::move(record), nullptr, chunk);
}

std::optional<AwaitedSchema> MessageBuilder::take(Record&& record, const MessageKey& key,
                                                  Chunk& chunk) {
    return take(std::move(record), &key, chunk);
}

std::optional<AwaitedSchema> MessageBuilder::take(Record&& record, const MessageKey* key,
                                                  Chunk& chunk) {
    State& state = *state_;
    const bool extract = state.extract_keys && key == nullptr;
    std::pmr::memory_resource& arena = *chunk.arena;
    const std::size_t bytes = size_of(record);
    // Constructed and not assigned, so that the record's headers stay where they are.
    Message& message = chunk.messages.emplace_back(std::move(record));
    if (key != nullptr) {
        message.digest = key->digest;
        message.fingerprint = key->fingerprint;
        message.key_text = key->text;
        message.minted_at = key->minted_at;
    }
    // What becomes of a tombstone depends on the topic's policy, and costs nothing to decide.
    message.deferred = state.key_values == 0 && state.fields_fingerprint.empty() && extract &&
                       message.record.payload && !state.options.schemas &&
                       duplicates_expected_.load(std::memory_order_relaxed);
    if (!message.deferred) {
        if (std::optional<std::string> reason = state.decode(message, arena)) {
            const ConfluentFrame frame = read_confluent_frame(message.record, MessageIndex::none);
            AwaitedSchema awaited{schema_id(frame), std::move(*reason)};
            // DANGER: nothing of the record may stay in the chunk, or the fence would move over a
            // message that was neither applied nor rejected.
            chunk.messages.pop_back();
            return awaited;
        }
    }
    chunk.bytes += bytes;
    if (message.rejection || message.skipped) {
        if (message.rejection && extract) state.keys.note_key(message, arena);
        return std::nullopt;
    }
    if (extract) {
        state.keys.extract(message, std::span(state.values).first(state.key_values), arena);
    }
    if (message.rejection || message.skipped) return std::nullopt;
    if (extract) state.fingerprint(message);
    if (!message.rejection && !message.deferred) state.encode(message, arena);
    return std::nullopt;
}

void MessageBuilder::finish(Message& message, std::pmr::memory_resource& arena) {
    message.deferred = false;
    const bool awaits = state_->decode(message, arena).has_value();
    expects(!awaits, "a message whose schema may have to be waited for is never deferred");
    if (!message.rejection && !message.skipped) state_->encode(message, arena);
}

void take_now(MessageBuilder& builder, Record record, Chunk& chunk) {
    const auto [partition, offset] = std::pair(record.partition, record.offset);
    require_schema(builder.take(std::move(record), chunk), partition, offset);
}

void take_now(MessageBuilder& builder, Record record, const MessageKey& key, Chunk& chunk) {
    const auto [partition, offset] = std::pair(record.partition, record.offset);
    require_schema(builder.take(std::move(record), key, chunk), partition, offset);
}

}  // namespace onceward
