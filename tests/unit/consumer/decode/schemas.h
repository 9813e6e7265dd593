#pragma once
// A schema source for tests, and payloads in a Confluent frame.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "consumer/decode/registry_decoder.h"
#include "tests/unit/consumer/records.h"

namespace onceward::test {

class FakeSchemas final : public SchemaSource {
  public:
    SchemaAnswer find(const SchemaId& id) override {
        asked.push_back(id);
        const auto found = answers.find(id);
        return found == answers.end() ? SchemaAnswer{} : found->second;
    }
    void know(std::int32_t id, WrittenSchema schema) {
        answers[{.number = id, .guid = {}}] = {
            .state = SchemaAnswer::State::known,
            .schema = std::make_shared<WrittenSchema>(std::move(schema)),
        };
    }
    void avro(std::int32_t id, std::string text) {
        know(id, {.language = SchemaLanguage::avro, .text = std::move(text), .references = {}});
    }
    void answer(std::int32_t id, SchemaAnswer::State state, std::string reason) {
        answers[{.number = id, .guid = {}}] = {
            .state = state, .schema = {}, .reason = std::move(reason)};
    }

    std::map<SchemaId, SchemaAnswer> answers;
    std::vector<SchemaId> asked;
};

inline std::string framed(std::uint8_t id, std::string_view payload) {
    std::string frame("\0\0\0\0", 4);
    frame += static_cast<char>(id);
    return frame.append(payload);
}

inline FormatOptions by_registry(Format format, Envelope envelope = Envelope::none) {
    FormatOptions options;
    options.format = format;
    options.framing = Framing::confluent;
    options.envelope = envelope;
    return options;
}

// Decodes by a registry, and owns what the values point into.
class RegistryDecoding {
  public:
    RegistryDecoding(const FormatOptions& options, std::vector<std::string> paths,
                     std::size_t kept = kept_schemas)
        : values_(paths.size()),
          decoder_(make_registry_decoder(options, std::move(paths), schemas, kept)) {}

    const Decoded& decode(std::string payload, RecordHeaders headers = {}) {
        payloads_.push_back(std::make_unique<std::string>(std::move(payload)));
        decoded_ =
            decoder_->decode(record_of(*payloads_.back(), std::move(headers)), values_, arena_);
        return decoded_;
    }
    const Value& operator[](std::size_t index) const { return values_[index]; }
    std::string reason() const { return decoded_.rejection ? decoded_.rejection->reason : ""; }
    Rejection::Kind kind() const { return decoded_.rejection->kind; }

    std::shared_ptr<FakeSchemas> schemas = std::make_shared<FakeSchemas>();

  private:
    std::pmr::monotonic_buffer_resource arena_;
    std::vector<std::unique_ptr<std::string>> payloads_;
    std::vector<Value> values_;
    std::unique_ptr<Decoder> decoder_;
    Decoded decoded_;
};

}  // namespace onceward::test
