#include "dedup/results/result_cache.h"

#include <iterator>

namespace onceward {

// With what the containers take for an entry and a header, about.
std::size_t ResultCache::bytes_of(const Entry& entry) {
    std::size_t bytes = sizeof(Item) + 96 + entry.result.body.size();
    for (const auto& [name, value] : entry.result.headers) {
        bytes += 64 + name.size() + value.size();
    }
    return bytes;
}

const ResultCache::Entry* ResultCache::find(const Digest& digest) {
    const auto place = places_.find(digest);
    if (place == places_.end()) return nullptr;
    items_.splice(items_.begin(), items_, place->second);
    return &place->second->second;
}

void ResultCache::erase(std::list<Item>::iterator item) {
    bytes_ -= bytes_of(item->second);
    places_.erase(item->first);
    items_.erase(item);
}

void ResultCache::put(const Digest& digest, Entry entry) {
    if (const auto known = places_.find(digest); known != places_.end()) erase(known->second);
    const std::size_t bytes = bytes_of(entry);
    if (bytes > most_bytes_) return;
    while (bytes_ + bytes > most_bytes_) erase(std::prev(items_.end()));
    items_.emplace_front(digest, std::move(entry));
    places_.emplace(digest, items_.begin());
    bytes_ += bytes;
}

void ResultCache::clear() {
    places_.clear();
    items_.clear();
    bytes_ = 0;
}

}  // namespace onceward
