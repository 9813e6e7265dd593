#include <charconv>
#include <optional>

#include "tests/faults/campaign/message_source.h"

namespace onceward::campaign {
namespace {

void put_varint(std::string& bytes, std::uint64_t value) {
    while (value >= 0x80) {
        bytes += static_cast<char>((value & 0x7f) | 0x80);
        value >>= 7;
    }
    bytes += static_cast<char>(value);
}

void put_number(std::string& bytes, unsigned field, std::uint64_t value) {
    put_varint(bytes, field << 3);
    put_varint(bytes, value);
}

void put_text(std::string& bytes, unsigned field, const std::string& text) {
    put_varint(bytes, (field << 3) | 2);
    put_varint(bytes, text.size());
    bytes += text;
}

// The first field's, which is a number.
std::optional<std::uint64_t> first_number(std::string_view bytes) {
    if (!bytes.starts_with('\x08')) return std::nullopt;
    std::uint64_t value = 0;
    int shift = 0;
    for (const char byte : bytes.substr(1, 10)) {
        value |= (static_cast<std::uint64_t>(byte) & 0x7f) << shift;
        shift += 7;
        if ((static_cast<unsigned char>(byte) & 0x80) == 0) return value;
    }
    return std::nullopt;
}

}  // namespace

const char* const proto_file =
    "syntax = \"proto3\";\n"
    "package campaign;\n"
    "message Order {\n"
    "  uint64 id = 1;\n"
    "  string key = 2;\n"
    "  string account = 3;\n"
    "  int64 amount = 4;\n"
    "}\n";

std::optional<std::uint64_t> payload_id(PayloadFormat format, std::string_view payload) {
    if (format == PayloadFormat::protobuf) return first_number(payload);
    const std::string_view prefix = format == PayloadFormat::json ? json_prefix : raw_prefix;
    if (!payload.starts_with(prefix)) return std::nullopt;
    payload.remove_prefix(prefix.size());
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(payload.data(), payload.data() + payload.size(), id);
    return error == std::errc{} ? std::optional(id) : std::nullopt;
}

std::string json_payload(const PayloadFields& fields) {
    std::string text = std::string(json_prefix) + std::to_string(fields.id);
    if (fields.key) text += ", \"key\": \"" + *fields.key + "\"";
    return text + ", \"account\": \"" + fields.account + "\", \"amount\": " + fields.amount + "}";
}

std::string protobuf_payload(const PayloadFields& fields) {
    std::string bytes;
    put_number(bytes, 1, fields.id);
    if (fields.key) put_text(bytes, 2, *fields.key);
    put_text(bytes, 3, fields.account);
    put_number(bytes, 4, static_cast<std::uint64_t>(std::stoll(fields.amount)));
    return bytes;
}

}  // namespace onceward::campaign
