#include "sinks/dead_letters/dead_letter_sink.h"

#include <algorithm>
#include <deque>

#include "dedup/base/expects.h"
#include "dedup/base/text.h"
#include "schemas/queries.h"
#include "sinks/columns/column_encoder.h"
#include "sinks/dead_letters/letter_records.h"

namespace onceward {
namespace {

using Bytes = std::optional<std::string_view>;

// What a timestamptz holds, with room to spare: 0001-01-01 to 9999-12-31. A producer may write
// anything.
constexpr std::chrono::milliseconds earliest{-62'135'596'800'000};
constexpr std::chrono::milliseconds latest{253'402'300'799'999};

// Columns of the statement, one entry a message. `owned` keeps what the views of texts point to.
struct Columns {
    std::vector<std::int32_t> partitions, attempts;
    std::vector<std::int64_t> offsets;
    std::vector<Bytes> milliseconds, keys, headers, payloads, key_texts, classes, states, reasons;
    std::vector<Bytes> first_places;
    std::vector<std::optional<Digest>> digests, fingerprints, first_fingerprints;
    std::deque<std::string> owned;

    std::string_view own(std::string text) { return owned.emplace_back(std::move(text)); }

    void add(const Message& message) {
        const Record& record = message.record;
        expects(message.rejection.has_value(), "a dead letter has a rejection");
        const Rejection& rejection = *message.rejection;
        partitions.push_back(record.partition.raw());
        offsets.push_back(record.offset.raw());
        std::string reason = printable(rejection.reason);
        milliseconds.emplace_back();
        if (record.timestamp && !storable_time(*record.timestamp)) {
            // DANGER: do not hand such a time to the server. It would fail our own statement and
            // stop the topic for good.
            reason += " (record timestamp " + std::to_string(record.timestamp->count()) +
                      " ms is beyond any calendar)";
        } else if (record.timestamp) {
            milliseconds.back() = own(std::to_string(record.timestamp->count()));
        }
        keys.push_back(record.key);
        headers.emplace_back(own(headers_json(record.headers)));
        payloads.push_back(record.payload);
        const bool has_key_text = message.key_text.data() != nullptr;
        key_texts.push_back(has_key_text ? Bytes(message.key_text) : std::nullopt);
        // A message that was rejected before its key was found has no digest.
        const bool has_digest = message.digest != Digest{};
        digests.push_back(has_digest ? std::optional(message.digest) : std::nullopt);
        classes.emplace_back(to_text(rejection.kind));
        states.emplace_back(rejection.sqlstate);
        reasons.emplace_back(own(std::move(reason)));
        attempts.push_back(rejection.attempts);
        fingerprints.push_back(message.fingerprint);
        const EarlierClaim* earlier = rejection.earlier;
        first_fingerprints.push_back(earlier != nullptr ? std::optional(earlier->fingerprint)
                                                        : std::nullopt);
        first_places.emplace_back();
        if (earlier != nullptr && !earlier->places.empty()) {
            first_places.back() = own(places_json(earlier->places));
        }
    }
};

}  // namespace

void DeadLetterSink::write(Transaction& transaction, const BatchContext& context,
                           std::span<const Message* const> messages) {
    if (messages.empty()) return;
    Columns columns;
    for (const Message* message : messages) columns.add(*message);
    const QueryResult written =
        transaction.prepared(sql::insert_dead_letters,
                             Parameters{context.consumer_group, context.topic, columns.partitions,
                                        columns.offsets, columns.milliseconds}
                                 .byte_strings(columns.keys)
                                 .texts(columns.headers)
                                 .byte_strings(columns.payloads)
                                 .byte_strings(columns.key_texts)
                                 .optional_digests(columns.digests)
                                 .texts(columns.classes)
                                 .texts(columns.states)
                                 .texts(columns.reasons)
                                 .small_integers(columns.attempts)
                                 .optional_digests(columns.fingerprints)
                                 .optional_digests(columns.first_fingerprints)
                                 .texts(columns.first_places));
    const auto topic = topics_.find(context.topic);
    if (topic == topics_.end()) return;
    publish_letters(transaction, context, topic->second, new_letters(written, messages));
}

std::string places_json(std::span<const ClaimPlace> places) {
    expects(!places.empty(), "there is a place to write");
    const auto quoted = [](const std::string& text) {
        const Value value{Value::Kind::text, {}, text};
        std::string json;
        const bool fits = !text.empty() && encode::json(value, Provenance::field, json).empty();
        return fits ? json : std::string("null");
    };
    std::string json;
    for (const ClaimPlace& place : places) {
        json += (json.empty() ? "[{" : ", {");
        json += "\"group\": " + quoted(place.consumer_group);
        json += ", \"topic\": " + quoted(place.topic);
        json += ", \"partition\": " + std::to_string(place.partition.raw());
        json += ", \"offset\": " + std::to_string(place.first.raw());
        if (place.last != place.first) {
            json += ", \"last_offset\": " + std::to_string(place.last.raw());
        }
        json += "}";
    }
    return json + "]";
}

std::string headers_json(std::span<const Header> headers) {
    std::string json = "[";
    for (const Header& header : headers) {
        const Value name{Value::Kind::text, {}, header.name};
        json += json.size() > 1 ? ", {" : "{";
        // A name that jsonb could not hold is kept all the same.
        if (encode::check_text(header.name).empty()) {
            json += "\"name\": ";
            if (!encode::json(name, Provenance::field, json).empty()) json += "\"\"";
        } else {
            json += "\"name_base64\": \"" + base64(header.name) + "\"";
        }
        json +=
            header.value ? ", \"value\": \"" + base64(*header.value) + "\"}" : ", \"value\": null}";
    }
    return json + "]";
}

bool storable_time(std::chrono::milliseconds time) { return time >= earliest && time <= latest; }

std::string printable(std::string_view bytes) {
    std::string text(bytes);
    const auto strange = [](char c) { return static_cast<unsigned char>(c) >= 0x80 || c == '\0'; };
    if (!encode::check_text(bytes).empty()) std::ranges::replace_if(text, strange, '?');
    return text;
}

}  // namespace onceward
