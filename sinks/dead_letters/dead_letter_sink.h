#pragma once
// Rejected messages, whole, in {schema}.dead_letters: in the transaction that moves the fence past
// them. Used by the writer's thread. The same message again changes nothing, except that a resolved
// letter is open again. Throws PostgresError; 23502 on `identity` if the partition has no fence.

#include <map>
#include <string>

#include "dedup/sink/sink.h"
#include "sinks/dead_letters/letter_headers.h"

namespace onceward {

class DeadLetterSink final : public Sink {
  public:
    // By the topic that was read: where its dead letters are published too.
    using Topics = std::map<std::string, LetterTopic>;
    explicit DeadLetterSink(Topics topics = {}) : topics_(std::move(topics)) {}
    // A letter that is new in the table also becomes a row of the outbox, if its topic has a topic
    // of dead letters. REQUIRES: each message has a rejection.
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override;

  private:
    const Topics topics_;
};

// A record's headers as the table's JSON: [{"name": text, "value": base64 or null}, ...], in their
// order.
std::string headers_json(std::span<const Header> headers);

// Where an earlier claim may be, as the table's JSON: [{"group", "topic", "partition", "offset"},
// ...], with "last_offset" if it is another one. REQUIRES: there is at least one place.
std::string places_json(std::span<const ClaimPlace> places);

// Whether a timestamptz can hold the time of a record.
bool storable_time(std::chrono::milliseconds time);

// Text for people that PostgreSQL always accepts: invalid UTF-8 and NUL become question marks.
std::string printable(std::string_view bytes);

}  // namespace onceward
