#include "tests/faults/campaign/core/board.h"

#include <algorithm>
#include <numeric>

namespace onceward::campaign::core {

Board::Board(int partitions, int workers, int unowned)
    : owners_(static_cast<std::size_t>(partitions), -1),
      drained_(static_cast<std::size_t>(workers), 0),
      takes_(static_cast<std::size_t>(workers), 0),
      workers_(workers),
      unowned_(unowned) {
    deal();
}

void Board::deal() {
    for (std::size_t partition = 0; partition < owners_.size(); ++partition) {
        owners_[partition] = static_cast<int>(partition) == unowned_
                                 ? -1
                                 : (static_cast<int>(partition) + turn_) % workers_;
    }
}

Board::Assignment Board::of(int worker) const {
    const std::lock_guard lock(mutex_);
    Assignment mine;
    mine.version = version_;
    for (std::size_t partition = 0; partition < owners_.size(); ++partition) {
        if (owners_[partition] == worker) mine.partitions.insert(static_cast<int>(partition));
    }
    return mine;
}

void Board::move(int partition, int worker) {
    const std::lock_guard lock(mutex_);
    int& owner = owners_.at(static_cast<std::size_t>(partition));
    if (owner < 0) return;
    owner = worker;
    ++version_;
    told_.notify_all();
}

void Board::move_all(int worker) {
    const std::lock_guard lock(mutex_);
    int other = worker;
    for (int& owner : owners_) {
        if (owner != worker) continue;
        other = (other + 1) % workers_;
        if (other == worker) other = (other + 1) % workers_;
        owner = other;
    }
    ++version_;
    told_.notify_all();
}

void Board::rebalance() {
    const std::lock_guard lock(mutex_);
    ++turn_;
    deal();
    ++version_;
    told_.notify_all();
}

void Board::assign_all() {
    const std::lock_guard lock(mutex_);
    if (unowned_ >= 0) {
        owners_[static_cast<std::size_t>(unowned_)] = (unowned_ + turn_) % workers_;
        unowned_ = -1;
    }
    ++version_;
    told_.notify_all();
}

void Board::changed() {
    const std::lock_guard lock(mutex_);
    ++version_;
    told_.notify_all();
}

void Board::drained(int worker, std::uint64_t version) {
    const std::lock_guard lock(mutex_);
    drained_[static_cast<std::size_t>(worker)] = version;
    if (drained_locked()) told_.notify_all();
}

bool Board::drained_locked() const {
    return std::ranges::all_of(drained_, [&](std::uint64_t seen) { return seen == version_; });
}

bool Board::all_drained() const {
    const std::lock_guard lock(mutex_);
    return drained_locked();
}

bool Board::wait_drained(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return told_.wait_for(lock, limit, [&] { return drained_locked(); });
}

void Board::took_fence(int worker) {
    const std::lock_guard lock(mutex_);
    ++takes_[static_cast<std::size_t>(worker)];
    told_.notify_all();
}

std::uint64_t Board::takes_of_others(int worker) const {
    const std::lock_guard lock(mutex_);
    return std::accumulate(takes_.begin(), takes_.end(), std::uint64_t{0}) -
           takes_[static_cast<std::size_t>(worker)];
}

bool Board::wait_overtaken(int worker, std::uint64_t since, std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    const auto others = [&] {
        return std::accumulate(takes_.begin(), takes_.end(), std::uint64_t{0}) -
               takes_[static_cast<std::size_t>(worker)];
    };
    told_.wait_for(lock, limit, [&] { return quiet_ || stopping_ || others() > since; });
    return others() > since;
}

void Board::be_quiet() {
    const std::lock_guard lock(mutex_);
    quiet_ = true;
    ++version_;
    told_.notify_all();
}

bool Board::quiet() const {
    const std::lock_guard lock(mutex_);
    return quiet_;
}

void Board::stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    told_.notify_all();
}

bool Board::stopping() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
}

void Board::rest(std::uint64_t version, std::chrono::milliseconds pause) {
    std::unique_lock lock(mutex_);
    told_.wait_for(lock, pause, [&] { return stopping_ || version_ != version; });
}

}  // namespace onceward::campaign::core
