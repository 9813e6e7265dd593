// JSON payloads, in each envelope, against nlohmann-json as a second reader of the same text.

#include <nlohmann/json.hpp>

#include "consumer/decode/decoder.h"
#include "consumer/intake/canonical_json.h"
#include "dedup/base/json_reader.h"
#include "tests/fuzz/fuzz.h"

namespace onceward::fuzz {
namespace {

const std::vector<std::string> paths{"",        "/id",        "/a",      "/a/b", "/list", "/list/0",
                                     "/list/1", "/a/list/10", "/x~1y~0", "/op",  "/id"};

// Whether the other reader takes the text. A number beyond double is no fault of the text's, so
// that one is no verdict.
class Verdict : public nlohmann::json_sax<nlohmann::json> {
  public:
    bool out_of_range = false;
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool key(string_t&) override { return true; }
    bool parse_error(std::size_t, const std::string&,
                     const nlohmann::detail::exception& error) override {
        out_of_range = error.id == 406;
        return false;
    }
};

struct Setup {
    std::vector<Value> values{paths.size()};
    std::unique_ptr<Decoder> decoder;
    explicit Setup(Envelope envelope, Framing framing) {
        FormatOptions options;
        options.envelope = envelope;
        options.framing = framing;
        decoder = make_decoder(options, paths);
    }
};

Setup& setup(std::uint8_t choice) {
    static std::array<Setup, 4> setups{
        Setup(Envelope::none, Framing::none), Setup(Envelope::connect, Framing::none),
        Setup(Envelope::debezium, Framing::none), Setup(Envelope::none, Framing::confluent)};
    return setups[choice % setups.size()];
}

void compare(const Value& value, const nlohmann::json* other) {
    if (other == nullptr) {
        require(value.kind == Value::Kind::absent, "a value that the text lacks is absent");
        return;
    }
    switch (other->type()) {
        case nlohmann::json::value_t::null:
            require(value.kind == Value::Kind::null, "null is null");
            return;
        case nlohmann::json::value_t::boolean:
            require(value.kind == Value::Kind::boolean && value.boolean == other->get<bool>(),
                    "a boolean is itself");
            return;
        case nlohmann::json::value_t::string:
            require(value.kind == Value::Kind::text &&
                        value.text == other->get_ref<const std::string&>(),
                    "both readers see one string");
            return;
        case nlohmann::json::value_t::number_integer:
        case nlohmann::json::value_t::number_unsigned:
        case nlohmann::json::value_t::number_float:
            require(value.kind == Value::Kind::number && is_json_number(value.text) &&
                        nlohmann::json::parse(value.text) == *other,
                    "both readers see one number");
            return;
        case nlohmann::json::value_t::object:
        case nlohmann::json::value_t::array:
            require(value.kind == Value::Kind::json && nlohmann::json::parse(value.text) == *other,
                    "both readers see one container");
            return;
        case nlohmann::json::value_t::binary:
        case nlohmann::json::value_t::discarded: break;
    }
    require(false, "JSON has no other types");
}

const nlohmann::json* at(const nlohmann::json& document, const std::string& path) {
    const nlohmann::json::json_pointer pointer(path);
    return document.contains(pointer) ? &document[pointer] : nullptr;
}

// What was decoded has a canonical form, but for what the RFC gives none, and that form is its own.
void check_canonical_form(std::string_view text) {
    std::string form, again;
    if (const std::optional<std::string> fault = append_canonical(text, form)) {
        require(fault->find("twice") != std::string::npos ||
                    fault->find("out of a double's range") != std::string::npos,
                "JSON without a canonical form breaks a rule of the RFC");
        return;
    }
    require(nlohmann::json::accept(form), "a canonical form is JSON");
    require(!append_canonical(form, again) && again == form, "a canonical form is its own");
}

void compare_with_the_other_reader(std::string_view text, const Decoded& decoded,
                                   std::span<const Value> values) {
    if (text.find('\0') != std::string_view::npos) {  // where the other one stops reading
        require(decoded.rejection.has_value(), "no JSON has a NUL in it");
        return;
    }
    Verdict verdict;
    const bool valid = nlohmann::json::sax_parse(text, &verdict);
    if (verdict.out_of_range) return;
    if (!decoded.rejection) {
        require(valid, "what is decoded is JSON");
        const nlohmann::json document = nlohmann::json::parse(text);
        for (std::size_t i = 0; i < paths.size(); ++i) compare(values[i], at(document, paths[i]));
        check_canonical_form(text);
        return;
    }
    if (!valid) return;
    const std::string& reason = decoded.rejection->reason;
    require(reason.find("is there twice") != std::string::npos ||
                reason.find("nested deeper") != std::string::npos ||
                reason.find("byte order mark") != std::string::npos,
            "JSON is decoded, or its rejection is a rule of ours");
}

}  // namespace
}  // namespace onceward::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    fuzz::Parts parts(fuzz::text_of(data, size));
    const std::uint8_t choice = parts.byte();
    fuzz::Setup& setup = fuzz::setup(choice);
    Record record;
    record.payload = parts.rest();
    std::pmr::monotonic_buffer_resource arena;
    const Decoded first = setup.decoder->decode(record, setup.values, arena);
    if (choice % 4 == 0) {
        fuzz::compare_with_the_other_reader(parts.rest(), first, setup.values);
    }
    const std::string seen =
        first.rejection ? first.rejection->reason : fuzz::describe(setup.values);
    const Decoded second = setup.decoder->decode(record, setup.values, arena);
    fuzz::require(
        first.rejection.has_value() == second.rejection.has_value() &&
            first.operation == second.operation && first.tombstone == second.tombstone &&
            seen == (second.rejection ? second.rejection->reason : fuzz::describe(setup.values)),
        "the same payload decodes to the same");
    return 0;
}
