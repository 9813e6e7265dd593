#include "cli/operate/correction.h"

#include "consumer/intake/keys_alone.h"
#include "consumer/intake/message_builder.h"

namespace onceward {
namespace {

Record record_of(const DeadLetterRecord& letter, const std::optional<std::string>& payload) {
    Record record;
    record.partition = letter.partition;
    record.key = letter.key;
    record.payload = payload;
    for (const StoredHeader& header : letter.headers) {
        record.headers.push_back({header.name, header.value});
    }
    return record;
}

std::string reason_of(const Message& message) {
    if (message.rejection) {
        return std::string(to_text(message.rejection->kind)) + ": " + message.rejection->reason;
    }
    return std::string(message.skip_reason);
}

}  // namespace

std::string problem_of_correction(const std::string& group, const TopicConfiguration& topic,
                                  const DeadLetterRecord& letter, const std::string& payload,
                                  std::shared_ptr<SchemaSource> schemas) {
    KeysAlone keys_alone;
    MessageBuilder builder({group, topic.name, topic.format, topic.key, std::move(schemas)},
                           keys_alone);
    Chunk chunk;
    const std::optional<std::string> corrected = payload;
    take_now(builder, record_of(letter, letter.payload), chunk);
    take_now(builder, record_of(letter, corrected), chunk);
    const Message& first = chunk.messages.at(0);
    const Message& second = chunk.messages.at(1);
    if (second.rejection || second.skipped) {
        return "the payload would not be applied: " + reason_of(second);
    }
    // If the letter cannot be decoded, at most the text of its key is known, and only if the
    // payload has no part in it. Then the same text is the same key.
    const bool known = first.digest != Digest{};
    if (!known && first.key_text.empty()) {
        return "the letter has no key that a correction could have too (" + reason_of(first) + ")";
    }
    const bool same = known ? first.digest == second.digest : first.key_text == second.key_text;
    if (same) return "";
    return "the payload has another key, so that it and the letter could both take effect: send it "
           "as a message of its own, and discard the letter";
}

}  // namespace onceward
