#include "consumer/decode/registry_decoder.h"

#include <list>
#include <utility>

#include "consumer/decode/avro_decoder.h"
#include "consumer/decode/written_protobuf.h"
#include "dedup/base/expects.h"

namespace onceward {
namespace {

std::string_view name_of(SchemaLanguage language) {
    switch (language) {
        case SchemaLanguage::avro: return "Avro";
        case SchemaLanguage::protobuf: return "Protobuf";
        case SchemaLanguage::json: return "JSON";
    }
    return "";
}

SchemaLanguage language_of(Format format) {
    switch (format) {
        case Format::avro: return SchemaLanguage::avro;
        case Format::protobuf: return SchemaLanguage::protobuf;
        case Format::json: return SchemaLanguage::json;
        case Format::raw: break;
    }
    throw FormatError("with a schema registry the format is avro, protobuf or json");
}

std::string named(const SchemaId& id) {
    return "schema " + (id.guid.empty() ? std::to_string(id.number) : id.guid);
}

std::string with(const std::string& reason) { return reason.empty() ? "" : ": " + reason; }

class RegistryDecoder final : public Decoder {
  public:
    RegistryDecoder(const FormatOptions& options, std::vector<std::string> paths,
                    std::shared_ptr<SchemaSource> source, std::size_t kept)
        : Decoder(Framing::confluent),
          options_(options),
          language_(language_of(options.format)),
          paths_(std::move(paths)),
          source_(std::move(source)),
          most_(kept) {
        expects(source_ != nullptr && most_ > 0, "a source, and a place for a schema in use");
        switch (language_) {
            case SchemaLanguage::avro: check_avro_paths(options_, paths_); break;
            case SchemaLanguage::protobuf: check_written_protobuf(options_); break;
            case SchemaLanguage::json: make_json_decoder(options_, paths_); break;
        }
    }

  private:
    // A schema in use: its decoder, or why it has none.
    struct Kept {
        std::int32_t number = 0;
        std::string guid;  // its 16 bytes
        std::string name;
        std::unique_ptr<Decoder> decoder;
        std::string fault;
    };

    Decoded read(const ConfluentFrame& frame, std::span<Value> values,
                 std::pmr::memory_resource& arena) override {
        Kept* kept = find(frame);
        if (kept == nullptr) {
            const SchemaId id = schema_id(frame);
            const SchemaAnswer answer = source_->find(id);
            if (std::optional<Decoded> end = without_schema(id, answer)) return std::move(*end);
            kept = &compile(frame, named(id), *answer.schema);
        }
        if (!kept->decoder) return undecodable(kept->fault);
        Decoded decoded = decode_with(*kept, frame, values, arena);
        if (decoded.rejection) decoded.rejection->reason += " (" + kept->name + ")";
        return decoded;
    }

    Decoded decode_with(Kept& kept, const ConfluentFrame& frame, std::span<Value> values,
                        std::pmr::memory_resource& arena) const {
        if (language_ != SchemaLanguage::protobuf) {
            return kept.decoder->decode_unframed(frame, values, arena);
        }
        ConfluentFrame indexed = frame;
        take_message_indexes(indexed);
        if (indexed.fault != nullptr) return undecodable(indexed.fault);
        return kept.decoder->decode_unframed(indexed, values, arena);
    }

    static std::optional<Decoded> without_schema(const SchemaId& id, const SchemaAnswer& answer) {
        Decoded decoded;
        switch (answer.state) {
            case SchemaAnswer::State::known:
                expects(answer.schema != nullptr, "a schema that is known is given");
                return std::nullopt;
            case SchemaAnswer::State::pending:
                decoded.awaits_schema = named(id) + " is not known yet" + with(answer.reason);
                return decoded;
            case SchemaAnswer::State::unknown:
                decoded.rejection =
                    Rejection{Rejection::Kind::unknown_schema,
                              "the registry has no " + named(id) + with(answer.reason), "", 1};
                return decoded;
            case SchemaAnswer::State::refused: break;
        }
        return undecodable(named(id) + " cannot be used" + with(answer.reason));
    }

    // Finds the schema that the frame names, and makes it the last one that would be dropped.
    Kept* find(const ConfluentFrame& frame) {
        for (auto at = kept_.begin(); at != kept_.end(); ++at) {
            if (at->number != frame.schema || at->guid != frame.guid) continue;
            if (at != kept_.begin()) kept_.splice(kept_.begin(), kept_, at);
            return &kept_.front();
        }
        return nullptr;
    }

    // A schema that does not compile is kept too: its next messages get the reason without another
    // try.
    Kept& compile(const ConfluentFrame& frame, std::string name, const WrittenSchema& schema) {
        while (kept_.size() >= most_) kept_.pop_back();
        Kept& kept = kept_.emplace_front();
        kept.number = frame.schema;
        kept.guid = frame.guid;
        kept.name = std::move(name);
        if (schema.language != language_) {
            kept.fault = kept.name + " is a schema of " + std::string(name_of(schema.language)) +
                         ", and the topic's format is " + std::string(name_of(language_));
            return kept;
        }
        try {
            kept.decoder = decoder_of(schema);
        } catch (const FormatError& error) {
            kept.fault = kept.name + " cannot be used: " + error.what();
        }
        return kept;
    }

    std::unique_ptr<Decoder> decoder_of(const WrittenSchema& schema) const {
        switch (language_) {
            case SchemaLanguage::avro: return make_avro_decoder(schema, options_, paths_);
            case SchemaLanguage::protobuf: return make_written_protobuf(schema, paths_);
            case SchemaLanguage::json: return make_json_decoder(options_, paths_);
        }
        return nullptr;
    }

    FormatOptions options_;
    SchemaLanguage language_;
    std::vector<std::string> paths_;
    std::shared_ptr<SchemaSource> source_;
    std::size_t most_;
    std::list<Kept> kept_;  // the one used last comes first
};

}  // namespace

std::unique_ptr<Decoder> make_registry_decoder(const FormatOptions& options,
                                               std::vector<std::string> paths,
                                               std::shared_ptr<SchemaSource> source,
                                               std::size_t kept) {
    return std::make_unique<RegistryDecoder>(options, std::move(paths), std::move(source), kept);
}

}  // namespace onceward
