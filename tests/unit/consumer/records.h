#pragma once
// Records, decoders and intakes for the tests of the reader's side. Records borrow the texts that
// they are made from.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "consumer/decode/decoder.h"
#include "consumer/intake/message_builder.h"
#include "dedup/sink/sink.h"

namespace onceward::test {

using namespace std::string_view_literals;

inline Record record_of(std::optional<std::string_view> payload, RecordHeaders headers = {}) {
    Record record;
    record.partition = Partition{3};
    record.offset = Offset{42};
    record.payload = payload;
    record.headers = std::move(headers);
    return record;
}

// Decodes one payload and owns what its values point into.
class Decoding {
  public:
    Decoding(const FormatOptions& options, std::vector<std::string> paths)
        : values_(paths.size()), decoder_(make_decoder(options, std::move(paths))) {}

    const Decoded& decode(std::string_view payload, RecordHeaders headers = {}) {
        payload_ = std::make_unique<std::string>(payload);
        decoded_ = decoder_->decode(record_of(*payload_, std::move(headers)), values_, arena_);
        return decoded_;
    }
    const Value& operator[](std::size_t index) const { return values_[index]; }
    std::string reason() const { return decoded_.rejection ? decoded_.rejection->reason : ""; }

  private:
    std::pmr::monotonic_buffer_resource arena_;
    std::unique_ptr<std::string> payload_;
    std::vector<Value> values_;
    std::unique_ptr<Decoder> decoder_;
    Decoded decoded_;
};

// Asks for fields and takes everything; can refuse as a mapping does.
class FieldSink : public Sink {
  public:
    explicit FieldSink(std::vector<FieldSource> sources = {}) : sources_(std::move(sources)) {}
    std::vector<FieldSource> fields() const override { return sources_; }
    std::optional<Rejection> encode(Message& message, std::pmr::memory_resource&) const override {
        ++encoded;
        if (refuse) {
            return Rejection{Rejection::Kind::unmappable, "does not fit", {}, 1};
        }
        message.encoded = "encoded";
        return std::nullopt;
    }
    void write(Transaction&, const BatchContext&, std::span<const Message* const>) override {}

    mutable int encoded = 0;
    bool refuse = false;

  private:
    std::vector<FieldSource> sources_;
};

inline KeySource key_from(KeySource::Kind kind, std::string name = "") {
    KeySource source;
    source.kind = kind;
    source.name = std::move(name);
    return source;
}

// Takes records one by one; the last message stays valid for as long as this lives.
class Taking {
  public:
    explicit Taking(KeyOptions key, FormatOptions format = {}, std::vector<FieldSource> fields = {},
                    std::string topic = "orders")
        : sink(std::move(fields)),
          intake(
              MessageBuilderOptions{"group", std::move(topic), std::move(format), std::move(key)},
              sink) {}

    const Message& take(Record record) {
        take_now(intake, std::move(record), chunk);
        return chunk.messages.back();
    }
    const Message& take(std::optional<std::string_view> payload, RecordHeaders headers = {}) {
        return take(record_of(payload, std::move(headers)));
    }

    FieldSink sink;
    MessageBuilder intake;
    Chunk chunk;
};

inline KeyOptions keys(std::vector<KeySource> sources) {
    KeyOptions options;
    options.sources = std::move(sources);
    return options;
}

inline KeyOptions header_key() { return keys({key_from(KeySource::Kind::header, "key")}); }

}  // namespace onceward::test
