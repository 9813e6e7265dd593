#pragma once
// Record -> Message: decoder, key extraction and the sink's encoding, in the reader's thread.
// One object for each worker and topic. Bad data never throws: it becomes Message::rejection or
// Message::skipped.

#include <atomic>
#include <memory>
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
};

class MessageBuilder {
  public:
    // `sink` outlives the intake; sink.fields() is asked once. Throws FormatError.
    MessageBuilder(MessageBuilderOptions options, Sink& sink);
    ~MessageBuilder();
    // The topic's id as Kafka gave it, for keys from coordinates; '' if Kafka gave none (then the
    // topic's name is used).
    void set_topic_id(std::string topic_id);
    MessageBuilder(const MessageBuilder&) = delete;
    // Adds the message to the chunk (views into the record's storage, which moves along).
    void take(Record record, Chunk& chunk);
    // The same for a message whose key is known: none is extracted.
    void take(Record record, const MessageKey& key, Chunk& chunk);
    // The bench's dedup-off setting: no key is extracted, no digest computed.
    void disable_keys();
    // Whether nearly all messages are duplicates just now: from then on take() leaves payloads
    // alone where the key does not come from them, and Message::deferred says so. Thread-safe.
    void expect_duplicates(bool expected) { duplicates_expected_ = expected; }
    // Does what was deferred; for the writer's thread, on an intake of its own.
    void finish(Message& message, std::pmr::memory_resource& arena);

  private:
    struct State;
    // `key`: null if it is to be extracted.
    void take(Record record, const MessageKey* key, Chunk& chunk);
    std::unique_ptr<State> state_;
    std::atomic<bool> duplicates_expected_{false};
};

}  // namespace onceward
