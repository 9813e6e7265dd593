#include "sinks/dead_letters/letter_records.h"

#include <deque>
#include <map>
#include <utility>

#include "dedup/base/expects.h"
#include "dedup/sink/packed_headers.h"
#include "sinks/dead_letters/dead_letter_sink.h"
#include "sinks/outbox/outbox_rows.h"

namespace onceward {
namespace {

LetterOrigin origin_of(const BatchContext& context, const NewLetter& letter) {
    const Message& message = *letter.message;
    expects(message.rejection.has_value(), "a dead letter has a rejection");
    const Rejection& rejection = *message.rejection;
    LetterOrigin origin{.topic = context.topic,
                        .partition = message.record.partition,
                        .offset = message.record.offset,
                        .timestamp = message.record.timestamp,
                        .log_append_time = message.record.log_append_time,
                        .group = context.consumer_group,
                        .identity = letter.identity,
                        .kind = rejection.kind,
                        .reason = printable(rejection.reason),
                        .sqlstate = rejection.sqlstate,
                        .attempts = rejection.attempts};
    if (message.key_text.data() != nullptr) origin.key_text = std::string(message.key_text);
    if (message.digest != Digest{}) origin.digest = message.digest;
    return origin;
}

std::string packed_headers(const Record& record, LetterStyle style, const LetterOrigin& origin) {
    const std::vector<LetterHeader> added = letter_headers(style, origin);
    RecordHeaders headers = record.headers;
    for (const LetterHeader& header : added) headers.push_back({header.name, header.value});
    return header_bytes(headers);
}

}  // namespace

std::vector<NewLetter> new_letters(const QueryResult& written,
                                   std::span<const Message* const> messages) {
    using Place = std::pair<std::int64_t, std::int64_t>;
    std::map<Place, std::string> identities;
    for (int row = 0; row < written.rows(); ++row) {
        if (written.integer(row, 3) == 0) continue;
        identities.emplace(Place{written.integer(row, 0), written.integer(row, 1)},
                           written.text(row, 2));
    }
    std::vector<NewLetter> letters;
    for (const Message* message : messages) {
        const auto found =
            identities.find(Place{message->record.partition.raw(), message->record.offset.raw()});
        if (found != identities.end()) letters.push_back({message, found->second});
    }
    return letters;
}

void publish_letters(Transaction& transaction, const BatchContext& context,
                     const LetterTopic& topic, const std::vector<NewLetter>& letters) {
    std::deque<std::string> headers;  // the rows have views of them
    std::vector<OutboxRow> rows;
    for (const NewLetter& letter : letters) {
        const Record& record = letter.message->record;
        const LetterOrigin origin = origin_of(context, letter);
        headers.push_back(packed_headers(record, topic.style, origin));
        rows.push_back({.topic = topic.topic,
                        .key = record.key,
                        .payload = record.payload,
                        .headers = headers.back(),
                        .id = letter_id(context.consumer_group, topic.topic, origin),
                        .order_key = record.key});
    }
    insert_outbox_rows(transaction, context.consumer_group, rows);
}

Digest letter_id(const std::string& group, const std::string& letter_topic,
                 const LetterOrigin& origin) {
    // No topic's name has a slash.
    return digest_of({.operation = "onceward dead letter",
                      .tenant = letter_topic,
                      .kind = group,
                      .text = origin.topic + "/" + origin.identity + "/" +
                              std::to_string(origin.partition.raw()) + "/" +
                              std::to_string(origin.offset.raw())});
}

}  // namespace onceward
