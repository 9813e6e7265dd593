#pragma once
// The order of requests that wait. Pure.

#include <iterator>
#include <utility>

namespace onceward {

// Inserts into a queue that is in the order of deadlines, after those with the same deadline: a
// request that has waited for its turn goes before requests that arrived later. It looks from the
// end, where most requests belong.
template <class Queue, class DeadlineOf>
void insert_by_deadline(Queue& queue, typename Queue::value_type item, DeadlineOf deadline_of) {
    const auto deadline = deadline_of(item);
    auto at = queue.end();
    while (at != queue.begin() && deadline_of(*std::prev(at)) > deadline) --at;
    queue.insert(at, std::move(item));
}

}  // namespace onceward
