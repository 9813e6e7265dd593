#pragma once
// Dead letters as records of another topic: rows of the outbox, in the transaction that writes the
// letters. Bytes of key, payload and headers are the message's own; headers that say where it came
// from, and why it was rejected, follow. Used by the thread that has the transaction. Throws
// PostgresError.

#include <span>
#include <string>
#include <vector>

#include "dedup/sink/sink.h"
#include "sinks/dead_letters/letter_headers.h"

namespace onceward {

// A message whose letter is new in the table, and the log that it is of.
struct NewLetter {
    const Message* message = nullptr;
    std::string identity;
};

// The messages whose letters insert_dead_letters reports as new, in their order.
std::vector<NewLetter> new_letters(const QueryResult& written,
                                   std::span<const Message* const> messages);

// DANGER: pass only letters that are new. A batch that is done again writes no new letter, and its
// letters must not be published a second time.
void publish_letters(Transaction& transaction, const BatchContext& context,
                     const LetterTopic& topic, const std::vector<NewLetter>& letters);

// The id of the record: the same whenever the same message becomes a letter of the group. Pure.
Digest letter_id(const std::string& group, const std::string& letter_topic,
                 const LetterOrigin& origin);

}  // namespace onceward
