#include "dedup/claims/log/log_batch.h"

#include <algorithm>

namespace onceward {
namespace {

std::string_view bytes_of(std::span<const Digest> digests) {
    return {reinterpret_cast<const char*>(digests.data()), digests.size_bytes()};
}

}  // namespace

std::span<const Digest> digests_in(std::string_view bytes) {
    static_assert(sizeof(Digest) == 16 && alignof(Digest) == 1);
    return {reinterpret_cast<const Digest*>(bytes.data()), bytes.size() / sizeof(Digest)};
}

LogBatch batch_in(const QueryResult& rows, int row, std::int64_t seq, int digests,
                  int fingerprints) {
    LogBatch batch{seq, digests_in(rows.text(row, digests)), {}};
    if (!rows.is_null(row, fingerprints)) {
        batch.fingerprints = digests_in(rows.text(row, fingerprints));
    }
    return batch;
}

bool may_meet(std::span<const Digest> digests, const LogBatch& batch) {
    const Digest* mine = digests.data();
    const Digest* const end = mine + digests.size();
    const Digest* before = nullptr;
    for (const Digest& theirs : batch.digests) {
        if (before != nullptr && theirs < *before) return true;
        before = &theirs;
        while (mine != end && *mine < theirs) ++mine;
        if (mine != end && *mine == theirs) return true;
    }
    return false;
}

LogLook::LogLook(QueryResult result) : result_(std::move(result)) {
    if (result_.rows() == 0) return;
    state = {.generation = result_.binary_integer(0, 2),
             .floor = result_.binary_integer(0, 0),
             .evictions = result_.binary_integer(0, 1),
             .oldest = result_.binary_integer(0, 6)};
    if (result_.is_null(0, 3)) return;
    batches.reserve(static_cast<std::size_t>(result_.rows()));
    for (int row = 0; row < result_.rows(); ++row) {
        batches.push_back(batch_in(result_, row, result_.binary_integer(row, 3), 4, 5));
    }
}

std::size_t LogLook::bytes() const {
    std::size_t bytes = 0;
    for (const LogBatch& batch : batches) {
        bytes += batch.digests.size_bytes() + batch.fingerprints.size_bytes();
    }
    return bytes;
}

void LogAppend::clear() {
    digests_.clear();
    fingerprints_.clear();
    for (const std::int32_t partition : partitions_) {
        place_of_[static_cast<std::size_t>(partition)] = 0;
    }
    partitions_.clear();
    first_offsets_.clear();
    last_offsets_.clear();
}

void LogAppend::add(const Claim& claim) {
    if (claim.fingerprint && fingerprints_.empty()) fingerprints_.resize(digests_.size());
    digests_.push_back(claim.digest);
    if (claim.fingerprint || !fingerprints_.empty()) {
        fingerprints_.push_back(packed_fingerprint(claim.fingerprint));
    }
    const auto partition = static_cast<std::size_t>(claim.partition.raw());
    if (partition >= place_of_.size()) place_of_.resize(partition + 1);
    std::size_t& place = place_of_[partition];
    const std::int64_t offset = claim.offset.raw();
    if (place == 0) {
        partitions_.push_back(claim.partition.raw());
        first_offsets_.push_back(offset);
        last_offsets_.push_back(offset);
        place = partitions_.size();
        return;
    }
    first_offsets_[place - 1] = std::min(first_offsets_[place - 1], offset);
    last_offsets_[place - 1] = std::max(last_offsets_[place - 1], offset);
}

Parameters LogAppend::parameters(int source) const {
    Parameters parameters{source, partitions_, first_offsets_, last_offsets_};
    parameters.bytes(bytes_of(digests_));
    if (fingerprints_.empty()) {
        parameters.null();
    } else {
        parameters.bytes(bytes_of(fingerprints_));
    }
    return parameters;
}

}  // namespace onceward
