// Protobuf payloads of a message with every kind of field, framed and not.

#include <nlohmann/json.hpp>

#include "consumer/decode/decoder.h"
#include "tests/fuzz/fuzz.h"

namespace onceward::fuzz {
namespace {

using Kind = Value::Kind;

struct Path {
    const char* name;
    std::vector<Kind> kinds;  // besides absent
};

const std::vector<Path>& paths() {
    static const std::vector<Path> all{
        {"id", {Kind::text}},
        {"big", {Kind::integer}},
        {"natural", {Kind::natural}},
        {"ratio", {Kind::real}},
        {"share", {Kind::real}},
        {"yes", {Kind::boolean}},
        {"blob", {Kind::bytes}},
        {"state", {Kind::text, Kind::integer}},
        {"line", {Kind::json}},
        {"line.sku", {Kind::text}},
        {"line.whole.line.units", {Kind::integer}},
        {"lines", {Kind::json}},
        {"numbers", {Kind::json}},
        {"counts", {Kind::json}},
        {"at", {Kind::timestamp}},
        {"note", {Kind::text}},
        {"limit", {Kind::integer}},
        {"maybe", {Kind::integer}},
        {"took", {Kind::text}},
        {"left", {Kind::text}},
        {"any", {Kind::json, Kind::null}},
        {"small", {Kind::integer}},
    };
    return all;
}

struct Setup {
    std::vector<Value> values{paths().size()};
    std::unique_ptr<Decoder> decoder;

    explicit Setup(Framing framing) {
        FormatOptions options;
        options.format = Format::protobuf;
        options.framing = framing;
        options.proto_files = {ONCEWARD_SOURCE_FOLDER "/tests/fuzz/sample.proto"};
        options.message = "fuzz.v1.Sample";
        std::vector<std::string> names;
        for (const Path& path : paths()) names.emplace_back(path.name);
        decoder = make_decoder(options, names);
    }
    std::string decode(std::string_view payload, std::pmr::memory_resource& arena) {
        Record record;
        record.payload = payload;
        const Decoded decoded = decoder->decode(record, values, arena);
        return decoded.rejection ? "rejected: " + decoded.rejection->reason : describe(values);
    }
};

void check(const Path& path, const Value& value) {
    if (value.kind == Kind::absent) return;
    bool allowed = false;
    for (const Kind kind : path.kinds) allowed = allowed || kind == value.kind;
    require(allowed, std::string("the kind of ") + path.name);
    if (value.kind == Kind::text) require(is_utf8(value.text), "text is UTF-8");
    if (value.kind == Kind::json) {
        require(is_utf8(value.text), "JSON is UTF-8");
        require(nlohmann::json::accept(value.text),
                "JSON is JSON: " + std::string(value.text.substr(0, 200)));
    }
}

}  // namespace
}  // namespace onceward::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    static fuzz::Setup bare(Framing::none);
    static fuzz::Setup framed(Framing::confluent);
    fuzz::Parts parts(fuzz::text_of(data, size));
    fuzz::Setup& setup = (parts.byte() & 1) != 0 ? framed : bare;
    std::pmr::monotonic_buffer_resource arena;
    const std::string first = setup.decode(parts.rest(), arena);
    if (!first.starts_with("rejected")) {
        for (std::size_t i = 0; i < setup.values.size(); ++i) {
            fuzz::check(fuzz::paths()[i], setup.values[i]);
        }
    }
    // The decoder keeps its message from payload to payload; another one in between leaves nothing.
    setup.decode("\x0a\x01x\x10\x07\x4a\x03\x0a\x01y\x62\x05\x0a\x01k\x10\x01", arena);
    fuzz::require(setup.decode(parts.rest(), arena) == first,
                  "the same payload decodes to the same");
    return 0;
}
