#include "dedup/message/batch.h"

#include <algorithm>

#include "dedup/base/expects.h"

namespace onceward {
namespace {

Span* find(std::vector<Span>& spans, Partition partition) {
    const auto at = std::ranges::lower_bound(spans, partition, {}, &Span::partition);
    return at != spans.end() && at->partition == partition ? &*at : nullptr;
}

void remove_messages(Chunk& chunk, const std::set<Partition>& partitions) {
    std::erase_if(chunk.messages, [&](const Message& message) {
        return partitions.contains(message.record.partition);
    });
}

// The part of `spans` that messages[0..count) cover: for each of their partitions, up to the offset
// after its last message.
std::vector<Span> passed(const std::vector<Message*>& messages, std::size_t count,
                         const std::vector<Span>& spans) {
    std::vector<Span> part;
    for (const Span& span : spans) {
        for (std::size_t i = count; i-- > 0;) {
            const Record& record = messages[i]->record;
            if (record.partition != span.partition) continue;
            part.push_back({span.partition, span.begin, next(record.offset), record.leader_epoch});
            break;
        }
    }
    return part;
}

std::vector<Span> rest(const std::vector<Span>& spans, std::vector<Span> done) {
    std::vector<Span> part;
    for (Span span : spans) {
        if (const Span* before = find(done, span.partition)) span.begin = before->end;
        if (span.begin < span.end) part.push_back(span);
    }
    return part;
}

}  // namespace

std::size_t Batch::message_count() const {
    std::size_t count = 0;
    for (const Chunk& chunk : chunks) count += chunk.messages.size();
    return count;
}

std::vector<Partition> append(Batch& batch, Chunk chunk) {
    std::set<Partition> broken;
    for (const Span& span : chunk.spans) {
        const Span* before = find(batch.spans, span.partition);
        if (before != nullptr && before->end != span.begin) broken.insert(span.partition);
    }
    if (!broken.empty()) {
        remove_messages(chunk, broken);
        std::erase_if(chunk.spans, [&](const Span& s) { return broken.contains(s.partition); });
    }
    for (const Span& span : chunk.spans) {
        if (Span* before = find(batch.spans, span.partition)) {
            before->end = span.end;
            // It is that of the new end, also if it is not known.
            before->leader_epoch = span.leader_epoch;
        } else {
            batch.spans.insert(
                std::ranges::lower_bound(batch.spans, span.partition, {}, &Span::partition), span);
        }
    }
    if (!chunk.spans.empty()) batch.chunks.push_back(std::move(chunk));
    return {broken.begin(), broken.end()};
}

bool fits(const Batch& batch, const Chunk& chunk, const BatchLimits& limits) {
    if (batch.message_count() == 0) return true;
    std::size_t bytes = chunk.bytes;
    for (const Chunk& taken : batch.chunks) bytes += taken.bytes;
    return bytes <= limits.bytes &&
           batch.message_count() + chunk.messages.size() <= limits.messages;
}

void drop(Batch& batch, const std::set<Partition>& partitions) {
    for (Chunk& chunk : batch.chunks) remove_messages(chunk, partitions);
    std::erase_if(batch.spans, [&](const Span& s) { return partitions.contains(s.partition); });
}

Slice whole(Batch& batch) {
    Slice slice;
    slice.messages.reserve(batch.message_count());
    for (Chunk& chunk : batch.chunks) {
        for (Message& message : chunk.messages) slice.messages.push_back(&message);
    }
    slice.spans = batch.spans;
    return slice;
}

Halves cut(const Slice& slice, std::size_t at) {
    expects(at > 0 && at < slice.messages.size(), "each part of a slice that is cut has a message");
    const auto middle = slice.messages.begin() + static_cast<std::ptrdiff_t>(at);
    Halves halves;
    halves.first.messages.assign(slice.messages.begin(), middle);
    halves.second.messages.assign(middle, slice.messages.end());
    halves.first.spans = passed(slice.messages, at, slice.spans);
    halves.second.spans = rest(slice.spans, halves.first.spans);
    return halves;
}

Halves halve(const Slice& slice) {
    expects(slice.messages.size() >= 2, "a slice that is halved has at least two messages");
    return cut(slice, slice.messages.size() / 2);
}

std::vector<Slice> singles(const Slice& slice) {
    std::vector<Slice> parts;
    std::vector<Span> left = slice.spans;
    for (Message* message : slice.messages) {
        const bool last = message == slice.messages.back();
        const std::vector<Message*> one{message};
        const std::vector<Span> spans = passed(one, 1, left);
        parts.push_back({one, last ? left : spans});
        left = rest(left, spans);
    }
    return parts;
}

}  // namespace onceward
