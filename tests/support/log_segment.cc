#include "tests/support/log_segment.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace onceward::support {
namespace {

// Kafka's record batch, from its first byte.
constexpr std::size_t length_at = 8;  // of what follows the length
constexpr std::size_t checksum_at = 17;
constexpr std::size_t attributes_at = 21;  // the checksum covers from here on
constexpr std::size_t last_delta_at = 23;

std::string read(const std::filesystem::path& segment) {
    std::ifstream file(segment, std::ios::binary);
    if (!file) throw std::runtime_error("no segment " + segment.string());
    return {std::istreambuf_iterator<char>(file), {}};
}

// In place: the file stays the one that the broker has open.
void overwrite(const std::filesystem::path& segment, std::uintmax_t at, std::string_view bytes) {
    std::fstream file(segment, std::ios::binary | std::ios::in | std::ios::out);
    if (!(file.seekp(static_cast<std::streamoff>(at)) << bytes << std::flush)) {
        throw std::runtime_error("cannot write " + segment.string());
    }
}

std::uint64_t number(const std::string& bytes, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
        value = (value << 8) | static_cast<unsigned char>(bytes.at(at + i));
    }
    return value;
}

// CRC-32C (Castagnoli), bit by bit.
std::uint32_t checksum(std::string_view bytes) {
    std::uint32_t rest = 0xFFFFFFFF;
    for (const char byte : bytes) {
        rest ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82F63B78 : 0);
    }
    return ~rest;
}

}  // namespace

std::vector<BatchOnDisk> batches_of(const std::filesystem::path& segment) {
    const std::string bytes = read(segment);
    std::vector<BatchOnDisk> batches;
    for (std::size_t at = 0; at + last_delta_at + 4 <= bytes.size();) {
        const std::size_t size = length_at + 4 + number(bytes, at + length_at, 4);
        if (number(bytes, at + length_at, 4) == 0 || at + size > bytes.size()) break;
        const auto begin = static_cast<std::int64_t>(number(bytes, at, 8));
        const auto delta = static_cast<std::int64_t>(number(bytes, at + last_delta_at, 4));
        batches.push_back({begin, begin + delta + 1, at, size});
        at += size;
    }
    return batches;
}

BatchOnDisk batch_at(const std::filesystem::path& segment, std::int64_t offset) {
    for (const BatchOnDisk& batch : batches_of(segment)) {
        if (batch.begin <= offset && offset < batch.end) return batch;
    }
    throw std::runtime_error("no batch holds offset " + std::to_string(offset));
}

void break_checksum(const std::filesystem::path& segment, const BatchOnDisk& batch) {
    const std::uintmax_t at = batch.position + batch.size - 2;
    const char other = static_cast<char>(read(segment).at(at) ^ 0x55);
    overwrite(segment, at, std::string_view(&other, 1));
}

void break_compression(const std::filesystem::path& segment, const BatchOnDisk& batch) {
    std::string bytes = read(segment);
    char& codec = bytes.at(batch.position + attributes_at + 1);
    codec = static_cast<char>((codec & ~7) | 1);  // gzip
    const std::uint32_t sum = checksum(
        std::string_view(bytes).substr(batch.position + attributes_at, batch.size - attributes_at));
    for (std::size_t i = 0; i < 4; ++i) {
        bytes.at(batch.position + checksum_at + i) = static_cast<char>(sum >> (24 - 8 * i));
    }
    const std::uintmax_t at = batch.position + checksum_at;
    overwrite(segment, at, std::string_view(bytes).substr(at, attributes_at + 2 - checksum_at));
}

}  // namespace onceward::support
