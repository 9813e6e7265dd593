#pragma once
// Results in memory, the least used one goes first. It holds what its owner knows to be committed,
// and each is good only while the generation that it was read from is listed. Used by one thread;
// throws nothing but std::bad_alloc.

#include <list>
#include <optional>
#include <unordered_map>

#include "dedup/message/digest.h"
#include "dedup/sink/message_result.h"

namespace onceward {

class ResultCache {
  public:
    // About that many bytes at most; 0 keeps nothing.
    explicit ResultCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

    struct Entry {
        std::int64_t generation = 0;
        MessageResult result;
    };
    // Null where there is none. Good until the next call.
    const Entry* find(const Digest& digest);
    void put(const Digest& digest, Entry entry);
    void clear();
    std::size_t bytes() const { return bytes_; }
    std::size_t size() const { return places_.size(); }

  private:
    using Item = std::pair<Digest, Entry>;
    static std::size_t bytes_of(const Entry& entry);
    void erase(std::list<Item>::iterator item);
    std::size_t most_bytes_;
    std::size_t bytes_ = 0;
    std::list<Item> items_;  // the last used one in front
    std::unordered_map<Digest, std::list<Item>::iterator> places_;
};

}  // namespace onceward
