#pragma once
// Answers to messages, on their way to a topic of replies: written in the transaction of the
// messages that they answer, and sent by the class that implements this. Used by the writer's
// thread; failures are PostgresErrors.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dedup/message/digest.h"
#include "dedup/postgres/transaction.h"

namespace onceward {

struct Reply {
    std::string topic;
    std::optional<std::string> key;  // of the record; replies of one key stay in their order
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    Digest id;  // the same whenever the same message is answered again
    // The tenant of the key; nullopt if keys have none. Erasing a tenant also deletes replies that
    // were not sent yet.
    std::optional<std::string> tenant = {};
};

class Replies {
  public:
    virtual ~Replies() = default;
    virtual void write(Transaction& transaction, std::span<const Reply> replies) = 0;
};

}  // namespace onceward
