#pragma once
// How many requests of each route may be under way at once: each holds a connection, and one slow
// target must leave some for the others. Pure; used by one thread at a time.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace onceward {

class RequestRoom {
  public:
    // `bounds`: of each route; 0 for its share of what is free.
    RequestRoom(std::size_t connections, std::vector<std::size_t> bounds)
        : connections_(connections), bounds_(std::move(bounds)), held_(bounds_.size()) {}
    // False where the route has as many under way as it may.
    bool enter(std::size_t route) {
        const std::size_t free = connections_ - std::min(connections_, total_);
        // Four times what is free: one busy route gets four fifths of all, two get four ninths
        // each, and however many there are some are left.
        const std::size_t bound = bounds_[route] == 0 ? 4 * free : bounds_[route];
        if (held_[route] >= bound) return false;
        ++held_[route];
        ++total_;
        return true;
    }
    void leave(std::size_t route) {
        --held_[route];
        --total_;
    }
    std::size_t under_way(std::size_t route) const { return held_[route]; }

  private:
    std::size_t connections_;
    std::vector<std::size_t> bounds_;
    std::vector<std::size_t> held_;
    std::size_t total_ = 0;
};

}  // namespace onceward
