#pragma once
// The batches of a partition as they lie on a broker's disk, and ways to damage one (format v2).
// The broker may run: it sends what the file holds, and leaves the checksum to its readers. Plain
// functions; failures are std::runtime_errors.

#include <cstdint>
#include <filesystem>
#include <vector>

namespace onceward::support {

struct BatchOnDisk {
    std::int64_t begin = 0;  // offsets
    std::int64_t end = 0;    // exclusive
    std::uintmax_t position = 0;
    std::uintmax_t size = 0;
};

std::vector<BatchOnDisk> batches_of(const std::filesystem::path& segment);
// The one that holds this offset.
BatchOnDisk batch_at(const std::filesystem::path& segment, std::int64_t offset);

// A byte of the last record is turned over: the checksum says so.
void break_checksum(const std::filesystem::path& segment, const BatchOnDisk& batch);
// The records are said to be gzip, which they are not; the checksum is right again.
void break_compression(const std::filesystem::path& segment, const BatchOnDisk& batch);

}  // namespace onceward::support
