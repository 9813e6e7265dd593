#pragma once
// Record -> Message: decoder, key extraction and the sink's encoding, in the reader's thread.
// One object for each worker and topic. Bad data never throws: it becomes Message::rejection or
// Message::skipped.

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "consumer/decode/decoder.h"
#include "consumer/intake/key_options.h"
#include "dedup/message/message.h"
#include "dedup/sink/sink.h"

namespace onceward {

struct MessageBuilderOptions {
    std::string consumer_group;
    std::string topic;
    FormatOptions format;
    KeyOptions key;
    // Where the messages' schemas come from; null: from the format's files, or there are none.
    std::shared_ptr<SchemaSource> schemas = nullptr;
};

// A record that cannot be read before its schema is known.
struct AwaitedSchema {
    SchemaId id;
    std::string reason;  // `schema 17 is not known yet: ...`
};

class MessageBuilder {
  public:
    // `sink` outlives the builder; sink.fields() is called once. Throws FormatError.
    MessageBuilder(MessageBuilderOptions options, Sink& sink);
    ~MessageBuilder();
    // The topic's id as Kafka gave it, for keys from coordinates; '' if Kafka gave none (then the
    // topic's name is used).
    void set_topic_id(std::string topic_id);
    MessageBuilder(const MessageBuilder&) = delete;
    // Adds the message to the chunk (with views into the record's storage, which moves too). If its
    // schema is not known yet, the chunk stays as it is; take the record again later, before any
    // that follows it. This can happen only with `schemas`.
    [[nodiscard]] std::optional<AwaitedSchema> take(Record&& record, Chunk& chunk);
    // The same for a message whose key is known: none is extracted.
    [[nodiscard]] std::optional<AwaitedSchema> take(Record&& record, const MessageKey& key,
                                                    Chunk& chunk);
    // The bench's dedup-off setting: no key is extracted, no digest computed.
    void disable_keys();
    // Whether nearly all messages are duplicates just now. If so, take() does not read payloads
    // that the key does not come from, and sets Message::deferred. Never with `schemas`: the writer
    // cannot wait for one within its transaction. Thread-safe.
    void expect_duplicates(bool expected) { duplicates_expected_ = expected; }
    // Does what was deferred; for the writer's thread, on a builder of its own.
    void finish(Message& message, std::pmr::memory_resource& arena);

  private:
    struct State;
    // `key`: null if it is to be extracted.
    std::optional<AwaitedSchema> take(Record&& record, const MessageKey* key, Chunk& chunk);
    std::unique_ptr<State> state_;
    std::atomic<bool> duplicates_expected_{false};
};

// For commands that may wait, whose `schemas` is patient: takes the record, or throws a
// std::runtime_error that says which schema is not available and why. A record is never left out.
void take_now(MessageBuilder& builder, Record record, Chunk& chunk);
void take_now(MessageBuilder& builder, Record record, const MessageKey& key, Chunk& chunk);

}  // namespace onceward
