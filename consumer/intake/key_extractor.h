#pragma once
// Finds a message's idempotency key, validates it and computes its digest.
// One for each intake, used by its thread. Construction throws FormatError (a pattern that is no
// regular expression); afterwards bad data only sets Message::rejection or Message::skipped.

#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "consumer/decode/format_options.h"
#include "consumer/intake/key_options.h"
#include "dedup/message/message.h"

namespace onceward {

class KeyExtractor {
  public:
    // A pattern is not tried on more bytes than this: std::regex recurses for each of them.
    static constexpr std::size_t pattern_length_max = 4096;

    KeyExtractor(KeyOptions options, const std::string& consumer_group, std::string topic,
                 Format format);
    ~KeyExtractor();

    void set_topic_id(std::string topic_id);
    // The payload's fields that the key and the tenant are read from; without repeats.
    const std::vector<std::string>& paths() const;
    // Sets digest and key_text, or rejection, or skipped. `values` belong to paths(), in that
    // order.
    void extract(Message& message, std::span<const Value> values,
                 std::pmr::memory_resource& arena) const;
    // For a message that is rejected already: sets key_text, for the dead letter, where no field is
    // needed for it.
    void note_key(Message& message, std::pmr::memory_resource& arena) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward
