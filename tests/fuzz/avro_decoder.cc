// Avro payloads of a record with every type, by paths, whole, and with nothing wanted.

#include "consumer/decode/avro_decoder.h"

#include <nlohmann/json.hpp>

#include "tests/fuzz/fuzz.h"

namespace onceward::fuzz {
namespace {

using Kind = Value::Kind;

constexpr const char* schema_text = R"({"type":"record","name":"a.All","fields":[
    {"name":"yes","type":"boolean"},
    {"name":"small","type":"int"},
    {"name":"big","type":"long"},
    {"name":"share","type":"float"},
    {"name":"ratio","type":"double"},
    {"name":"blob","type":"bytes"},
    {"name":"text","type":"string"},
    {"name":"state","type":{"type":"enum","name":"E","symbols":["A","B","C"]}},
    {"name":"four","type":{"type":"fixed","name":"F4","size":4}},
    {"name":"uuid","type":{"type":"fixed","name":"F16","size":16,"logicalType":"uuid"}},
    {"name":"took","type":{"type":"fixed","name":"F12","size":12,"logicalType":"duration"}},
    {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":3}},
    {"name":"day","type":{"type":"int","logicalType":"date"}},
    {"name":"clock","type":{"type":"int","logicalType":"time-millis"}},
    {"name":"exact","type":{"type":"long","logicalType":"time-micros"}},
    {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
    {"name":"fine","type":{"type":"long","logicalType":"timestamp-nanos"}},
    {"name":"local","type":{"type":"long","logicalType":"local-timestamp-nanos"}},
    {"name":"maybe","type":["null","string","long",{"type":"array","items":"null"}]},
    {"name":"list","type":{"type":"array","items":["null","int"]}},
    {"name":"map","type":{"type":"map","values":{"type":"array","items":"string"}}},
    {"name":"next","type":["null","All"]}]})";

const std::vector<std::string>& fields() {
    static const std::vector<std::string> all{"yes",   "small", "big",   "share", "ratio", "blob",
                                              "text",  "state", "four",  "uuid",  "took",  "price",
                                              "day",   "clock", "exact", "at",    "fine",  "local",
                                              "maybe", "list",  "map",   "next"};
    return all;
}

struct Setup {
    std::vector<Value> values;
    std::unique_ptr<Decoder> decoder;

    explicit Setup(const std::vector<std::string>& paths) : values(paths.size()) {
        WrittenSchema schema;
        schema.text = schema_text;
        FormatOptions options;
        options.format = Format::avro;
        decoder = make_avro_decoder(schema, options, paths);
    }
    std::optional<std::string> decode(std::string_view payload, std::pmr::memory_resource& arena) {
        ConfluentFrame frame;
        frame.payload = payload;
        const Decoded decoded = decoder->decode_unframed(frame, values, arena);
        return decoded.rejection ? std::optional(decoded.rejection->reason) : std::nullopt;
    }
};

Setup by_paths() {
    std::vector<std::string> paths;
    for (const std::string& field : fields()) paths.push_back("/" + field);
    for (const char* deep : {"/next/next/text", "/list/1", "/map/a/0", "/maybe/0", "/map/a"}) {
        paths.emplace_back(deep);
    }
    return Setup(paths);
}

// A field's value, and the same field's in the record's JSON form.
void compare(const Value& value, const nlohmann::json& json, const std::string& field) {
    switch (value.kind) {
        case Kind::absent: require(false, "a field of the record is there: " + field); break;
        case Kind::null: require(json.is_null(), "null is null in " + field); break;
        case Kind::boolean: require(json == value.boolean, "a boolean in " + field); break;
        case Kind::integer: require(json == value.integer, "a whole number in " + field); break;
        case Kind::natural: require(false, "Avro has no unsigned numbers"); break;
        case Kind::real:
            require(json.is_string() || json.get<double>() == value.real, "a number in " + field);
            break;
        case Kind::number: require(json.is_number(), "a decimal is a number in " + field); break;
        case Kind::text:
            require(is_utf8(value.text) && json.get<std::string>() == value.text,
                    "a text in " + field);
            break;
        case Kind::bytes:
        case Kind::timestamp: require(json.is_string(), "JSON has a text in " + field); break;
        case Kind::json:
            require(nlohmann::json::parse(value.text) == json, "a part of the whole in " + field);
            break;
    }
}

// nlohmann's parser takes no number beyond a double's range, which a decimal may be.
bool is_beyond_doubles(std::string_view json) {
    constexpr std::size_t most_digits = 300;
    std::size_t digits = 0;
    for (const char letter : json) {
        digits = letter >= '0' && letter <= '9' ? digits + 1 : 0;
        if (digits > most_digits) return true;
    }
    return false;
}

}  // namespace
}  // namespace onceward::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    static fuzz::Setup parts = fuzz::by_paths();
    static fuzz::Setup whole(std::vector<std::string>{""});
    static fuzz::Setup nothing(std::vector<std::string>{});
    const std::string payload(fuzz::text_of(data, size));
    std::pmr::monotonic_buffer_resource arena;
    const std::optional<std::string> fault = parts.decode(payload, arena);
    const std::string first = fuzz::describe(parts.values);
    fuzz::require(parts.decode(payload, arena) == fault, "the same payload has the same fault");
    if (!fault) {
        fuzz::require(fuzz::describe(parts.values) == first, "and the same values");
        fuzz::require(!nothing.decode(payload, arena), "what reads well is skipped well");
        // More is read in the whole: the dates of the records below. And a key of a map that
        // is there twice is one member of nlohmann's.
        if (!whole.decode(payload, arena) &&
            !fuzz::is_beyond_doubles(whole.values[0].text)) {
            const nlohmann::json json = nlohmann::json::parse(whole.values[0].text, nullptr, false);
            fuzz::require(!json.is_discarded(), "JSON is JSON");
            for (std::size_t i = 0; i < fuzz::fields().size(); ++i) {
                fuzz::compare(parts.values[i], json[fuzz::fields()[i]], fuzz::fields()[i]);
            }
        }
    } else if (nothing.decode(payload, arena)) {
        fuzz::require(whole.decode(payload, arena).has_value(),
                      "what cannot be skipped cannot be read");
    }
    return 0;
}
