#pragma once
// Which messages must wait for a dead letter with their record key (`order: by_key`). Recreated in
// each transaction, from what that transaction sees under its fences. Used by one thread; borrows
// the messages. look() throws PostgresError.

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "dedup/message/message.h"
#include "dedup/postgres/transaction.h"
#include "dedup/sink/sink.h"

namespace onceward {

class KeyOrder {
  public:
    struct Place {
        Partition partition;
        Offset offset;
    };

    // Reads the open dead letters of the group's topic under the keys of these messages.
    // REQUIRES: the transaction holds the fences of their partitions, so that no other adds any.
    void look(Transaction& transaction, const BatchContext& context,
              std::span<Message* const> messages);
    // The dead letter that the message must follow; nullopt if there is none.
    std::optional<Place> first(const Message& message) const;
    // The message goes to the dead letters in this transaction: later messages with its key follow
    // it there.
    void rejected(const Message& message);

  private:
    std::map<const Message*, Place> in_table_;
    std::unordered_map<std::string_view, Place> in_slice_;
};

// As the dead letter says it.
Rejection behind(const KeyOrder::Place& first);

// Takes an earlier attempt's verdict `behind`. Returns true if it no longer holds because the dead
// letter was resolved meanwhile. Otherwise the reason names the dead letter that is the first now.
bool stood_behind(Message& message, const KeyOrder& order);

}  // namespace onceward
