#pragma once
// What one transaction covers, and the pure rules that make, trim and halve it. No I/O, not
// thread-safe.

#include <set>
#include <string>
#include <vector>

#include "dedup/message/message.h"

namespace onceward {

struct BatchLimits {
    // most messages in a transaction; more holds more memory and locks
    std::size_t messages = 5000;
    // most bytes of keys, headers and payloads; the first chunk always fits
    std::size_t bytes = 8 * 1024 * 1024;
};

// Owns its chunks. One topic; the messages of a partition are in offset order.
struct Batch {
    std::string topic;
    std::vector<Chunk> chunks;
    // one for each partition, sorted by partition; contiguous through the chunks
    std::vector<Span> spans;
    std::size_t message_count() const;
    bool empty() const { return spans.empty(); }
};

// A part of a batch that is tried on its own: messages in batch order, with the spans that they
// cover. A view: the batch outlives it.
struct Slice {
    std::vector<Message*> messages;
    std::vector<Span> spans;  // sorted by partition
};

// Appends `chunk` to the batch. Spans that do not begin where the batch's span of that partition
// ends are left over from a seek or a take-over: they are discarded with their messages (DANGER: if
// they were kept, the fence would jump over the offsets between). Returns the partitions that were
// discarded.
std::vector<Partition> append(Batch& batch, Chunk chunk);

// Whether `chunk` still fits; an empty batch takes any.
bool fits(const Batch& batch, const Chunk& chunk, const BatchLimits& limits);

// Removes messages and spans of these partitions.
void drop(Batch& batch, const std::set<Partition>& partitions);

Slice whole(Batch& batch);

// Two parts of a slice in offset order; every span of the slice is covered once, without a gap.
struct Halves {
    Slice first;
    Slice second;
};
// Cuts before message `at`. REQUIRES: each part has a message.
Halves cut(const Slice& slice, std::size_t at);
// REQUIRES: at least two messages.
Halves halve(const Slice& slice);

// The slice cut into single messages, each with the part of the spans up to its own end; the last
// one takes the rest.
std::vector<Slice> singles(const Slice& slice);

}  // namespace onceward
