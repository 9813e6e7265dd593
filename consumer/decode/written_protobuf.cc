#include "consumer/decode/written_protobuf.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <map>
#include <utility>

#include "consumer/decode/descriptor_pool.h"
#include "consumer/decode/protobuf_message.h"

namespace onceward {
namespace {

namespace proto = google::protobuf;

// The wanted paths that one message type has, and which of all wanted paths they are.
struct TypeReader {
    struct Place {
        std::size_t path;
        bool names;  // an enum, whose values are names
    };
    std::vector<Place> places;
    std::vector<Value> values;
    std::unique_ptr<ProtobufMessage> message;

    TypeReader(const proto::Descriptor& type, const std::vector<std::string>& paths) {
        std::vector<ProtobufPath> found;
        std::string ignored;
        for (std::size_t i = 0; i < paths.size(); ++i) {
            std::optional<ProtobufPath> path = find_path(type, paths[i], ignored);
            if (!path) continue;
            const auto* leaf = path->leaf;
            const bool names =
                leaf != nullptr && leaf->cpp_type() == proto::FieldDescriptor::CPPTYPE_ENUM;
            found.push_back(std::move(*path));
            places.push_back({i, names});
        }
        values.resize(places.size());
        message = std::make_unique<ProtobufMessage>(type, std::move(found));
    }
};

class WrittenProtobuf final : public Decoder {
  public:
    WrittenProtobuf(const WrittenSchema& schema, std::vector<std::string> paths)
        : Decoder(Framing::confluent), file_(schema), paths_(std::move(paths)) {}

  private:
    Decoded read(const ConfluentFrame& frame, std::span<Value> all,
                 std::pmr::memory_resource& arena) override {
        // A frame with a GUID may leave the list out, which means the first type.
        constexpr std::int32_t first[] = {0};
        const std::span<const std::int32_t> index =
            frame.index().empty() ? std::span<const std::int32_t>(first) : frame.index();
        const proto::Descriptor* type = type_at(file_.file(), index);
        if (type == nullptr) {
            return undecodable("the frame's message index names no message of its schema");
        }
        auto [known, fresh] = readers_.try_emplace(type);
        if (fresh) known->second = std::make_unique<TypeReader>(*type, paths_);
        TypeReader& reader = *known->second;
        std::fill(all.begin(), all.end(), Value{});
        Decoded decoded = reader.message->read(frame.payload, reader.values, arena);
        if (decoded.rejection) return decoded;
        for (std::size_t i = 0; i < reader.places.size(); ++i) {
            Value& value = all[reader.places[i].path];
            value = reader.values[i];
            // DANGER: an enum's name is the schema's, which may be forgotten before its messages
            // are written.
            if (reader.places[i].names) value.text = keep(arena, value.text);
        }
        return decoded;
    }

    WrittenFile file_;
    std::vector<std::string> paths_;
    // As many as the schema has message types.
    std::map<const proto::Descriptor*, std::unique_ptr<TypeReader>> readers_;
};

}  // namespace

void check_written_protobuf(const FormatOptions& options) {
    if (options.envelope == Envelope::none) return;
    throw FormatError("an envelope is unwrapped from JSON and Avro only. Write `envelope: none`");
}

std::unique_ptr<Decoder> make_written_protobuf(const WrittenSchema& schema,
                                               std::vector<std::string> paths) {
    // Protobuf writes to stderr about what it refuses; the rejections say it.
    static const proto::LogSilencer silence;
    return std::make_unique<WrittenProtobuf>(schema, std::move(paths));
}

}  // namespace onceward
