#pragma once
// From a record's bytes to the fields that key and sink ask for.
// A decoder belongs to one thread (the reader's). It throws only for a broken setup (a descriptor
// that does not load); bad data is a Rejection. Views in the values point into the record or the
// arena.

#include <array>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consumer/decode/format_options.h"
#include "consumer/decode/schema_source.h"
#include "dedup/message/message.h"
#include "dedup/message/value.h"

namespace onceward {

// The Confluent wire format: what precedes a payload that was written with a schema registry, or
// travels next to it in the newer form. Pure functions on views. They throw nothing; a bad frame is
// a fault.

// Whether a list of message indexes follows the schema id: only Protobuf has one.
enum class MessageIndex : std::uint8_t { none, present };

struct ConfluentFrame {
    // Message types nest, but never this deep; a longer list is a fault.
    static constexpr std::size_t max_indexes = 32;

    const char* fault = nullptr;  // a sentence if the frame is bad
    std::string_view payload{};
    // Which message type of its file, as a path of positions. Empty: the frame does not say.
    std::span<const std::int32_t> index() const { return {indexes.data(), index_count}; }
    // The first `index_count` are set. The others are left as they are: to clear them costs more
    // than to read a frame.
    std::array<std::int32_t, max_indexes> indexes;
    std::size_t index_count = 0;
    // The writer's schema: its number, or the 16 bytes of its GUID.
    std::int32_t schema = 0;
    std::string_view guid{};
    std::string_view after_guid{};  // where the newer form has its message indexes
};

// Takes byte 0, a 4-byte schema id and the message indexes off the payload. If the record has the
// header `__value_schema_id` (byte 1 and a 16-byte GUID, then maybe the indexes), it reads that and
// leaves the payload whole. REQUIRES: the record has a payload.
ConfluentFrame read_confluent_frame(const Record& record, MessageIndex message_index);

// For callers that learn the schema's language only by its id: takes the message indexes off a
// frame that was read with MessageIndex::none. A bad list is a fault.
void take_message_indexes(ConfluentFrame& frame);

// The id by which a schema source knows the writer's schema.
SchemaId schema_id(const ConfluentFrame& frame);

// The topic's format cannot be set up: a missing descriptor file, an unknown message or path.
class FormatError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Decoded {
    Boxed<Rejection> rejection;
    Operation operation = Operation::upsert;  // what a change event asks for
    // An envelope around null means the same as a null payload; the values are absent.
    bool tombstone = false;
    // The kind of a change event without a row, as a literal. Such an event also has a rejection,
    // for topics that do not skip it.
    std::string_view rowless{};
    // Why the schema that the message was written with is not known yet. Neither a rejection nor a
    // message: the values mean nothing, and the record must not be passed. Decode it again later.
    std::optional<std::string> awaits_schema{};
};

class Decoder {
  public:
    explicit Decoder(const FormatOptions& options)
        : framing_(options.framing),
          index_(options.format == Format::protobuf ? MessageIndex::present : MessageIndex::none) {}
    // For a decoder that learns only from the schema whether message indexes follow its id.
    explicit Decoder(Framing framing) : framing_(framing), index_(MessageIndex::none) {}
    virtual ~Decoder() = default;
    // Fills `values` from the payload: one value for each wanted path, absent if the payload lacks
    // it. After a rejection the values mean nothing. REQUIRES: the record has a payload;
    // values.size() == number of wanted paths.
    Decoded decode(const Record& record, std::span<Value> values, std::pmr::memory_resource& arena);
    // The same for a payload that the caller has taken out of its frame.
    Decoded decode_unframed(const ConfluentFrame& frame, std::span<Value> values,
                            std::pmr::memory_resource& arena) {
        return read(frame, values, arena);
    }

  private:
    // The same for a payload that was taken out of its frame.
    virtual Decoded read(const ConfluentFrame& frame, std::span<Value> values,
                         std::pmr::memory_resource& arena) = 0;

    Framing framing_;
    MessageIndex index_;
};

// `paths`: JSON pointers or Protobuf paths. A Protobuf path that the message type does not have
// throws FormatError.
std::unique_ptr<Decoder> make_decoder(const FormatOptions& options, std::vector<std::string> paths);

// Two of the decoders that make_decoder() returns.
std::unique_ptr<Decoder> make_json_decoder(const FormatOptions& options,
                                           const std::vector<std::string>& paths);
std::unique_ptr<Decoder> make_protobuf_decoder(const FormatOptions& options,
                                               const std::vector<std::string>& paths);

// A rejection of the payload's bytes.
inline Decoded undecodable(std::string reason) {
    return {Rejection{Rejection::Kind::undecodable, std::move(reason), {}, 1}, Operation::upsert,
            false};
}

// 16 bytes as the text of a UUID, in lower case. REQUIRES: 16 of them.
std::string uuid_text(std::string_view bytes);

// Whether bytes are UTF-8. A pure function.
bool is_utf8(std::string_view bytes);

// The parts of a record that need no decoder: header, key, payload, metadata, constant. Pure
// functions.
// A missing header is absent; a null header, key or payload is null; bytes that are UTF-8 are text.
// `topic` is copied into the arena if it is asked for. REQUIRES: source.kind is neither field nor
// key.
Value record_value(const FieldSource& source, const Record& record, std::string_view topic,
                   std::pmr::memory_resource& arena);

// Bytes as a value: text if they are UTF-8.
Value text_or_bytes(std::string_view bytes);

// Throws FormatError for metadata, or a part of the key, that does not exist.
void check_source(const FieldSource& source);

}  // namespace onceward
