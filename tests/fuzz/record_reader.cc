// What `onceward produce` reads: NDJSON and CSV, then the records' encoding as JSON and Protobuf.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "consumer/decode/decoder.h"
#include "consumer/produce/ndjson_csv_reader.h"
#include "consumer/produce/record_encoder.h"
#include "tests/fuzz/fuzz.h"

namespace onceward::fuzz {
namespace {

FormatOptions protobuf() {
    FormatOptions options;
    options.format = Format::protobuf;
    options.proto_files = {ONCEWARD_SOURCE_FOLDER "/tests/fuzz/sample.proto"};
    options.message = "fuzz.v1.Sample";
    return options;
}

void encode(const std::string& json) {
    static RecordEncoder as_json(FormatOptions{}, {"id", "/line/sku"});
    static RecordEncoder as_protobuf(protobuf(), {"id"});
    try {
        require(as_json.encode(json).payload == json, "JSON goes out as it came in");
        as_protobuf.encode(json);
    } catch (const EncodeError&) {
    }
}

void read(const RecordReader& reader, bool csv, std::size_t lines) {
    std::int64_t last = 0;
    // Each step takes a line at least.
    for (std::size_t step = 0;; ++step) {
        require(step <= lines + 1, "reading comes to an end");
        try {
            const std::optional<InputRecord> record = reader();
            if (!record) return;
            require(record->line > last, "line numbers grow");
            last = record->line;
            if (csv) require(nlohmann::json::accept(record->json), "a row of CSV is JSON");
            encode(record->json);
        } catch (const InputError&) {
        }
    }
}

}  // namespace
}  // namespace onceward::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    fuzz::Parts parts(fuzz::text_of(data, size));
    const std::uint8_t choice = parts.byte();
    const std::string text(parts.rest());
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    std::istringstream input(text);
    const bool csv = (choice & 1) != 0;
    try {
        const RecordReader reader =
            csv ? read_csv(input, (choice & 2) != 0 ? ';' : ',') : read_ndjson(input);
        fuzz::read(reader, csv, lines);
    } catch (const InputError&) {  // the first line of CSV names no columns
    }
    return 0;
}
