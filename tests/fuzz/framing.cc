// The Confluent frame: what is read off it is written again and read to the same.

#include "consumer/decode/decoder.h"

#include "tests/fuzz/fuzz.h"

namespace onceward::fuzz {
namespace {

// A zigzag varint, written here on its own.
void append_varint(std::string& bytes, std::int32_t number) {
    auto zigzag = (static_cast<std::uint32_t>(number) << 1) ^ (number < 0 ? ~0U : 0U);
    for (; zigzag > 0x7f; zigzag >>= 7) bytes += static_cast<char>(zigzag | 0x80);
    bytes += static_cast<char>(zigzag);
}

void check(const Record& record, MessageIndex message_index) {
    const ConfluentFrame unframed = read_confluent_frame(record, message_index);
    if (unframed.fault != nullptr) return;
    require(unframed.index_count <= ConfluentFrame::max_indexes, "the list of indexes is bounded");
    require(record.payload->ends_with(unframed.payload), "the payload is the record's tail");
    std::string again("\0\0\0\0\7", 5);
    append_varint(again, static_cast<std::int32_t>(unframed.index_count));
    for (const std::int32_t index : unframed.index()) {
        require(index >= 0, "an index is a position");
        append_varint(again, index);
    }
    again += unframed.payload;
    Record rewritten;
    rewritten.payload = again;
    const ConfluentFrame reread = read_confluent_frame(rewritten, MessageIndex::present);
    require(reread.fault == nullptr, "a frame that was read can be written");
    if (unframed.index_count > 0) {
        require(std::string_view(reinterpret_cast<const char*>(reread.indexes.data()),
                                 reread.index_count * sizeof(std::int32_t)) ==
                    std::string_view(reinterpret_cast<const char*>(unframed.indexes.data()),
                                     unframed.index_count * sizeof(std::int32_t)),
                "the indexes are the same again");
        require(reread.payload == unframed.payload, "the payload is the same again");
    }
}

}  // namespace
}  // namespace onceward::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    fuzz::Parts parts(fuzz::text_of(data, size));
    const std::uint8_t choice = parts.byte();
    Record record;
    if ((choice & 1) != 0) {
        record.headers.push_back({"__value_schema_id", parts.text()});
    }
    record.payload = parts.rest();
    fuzz::check(record, (choice & 2) != 0 ? MessageIndex::present : MessageIndex::none);
    return 0;
}
