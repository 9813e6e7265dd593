#pragma once
// Finds the messages of a batch that the sink refuses. It tries parts of the batch in one
// transaction, each under a savepoint, and then cuts the refused parts into smaller ones. If the
// sink gives its writes as statements, all parts are tried in one round trip. The caller rolls the
// transaction back, and processes the batch again without the refused messages. One object for each
// session, used by one thread. Borrows what it is given for one call.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dedup/message/message.h"
#include "dedup/policy/failure.h"
#include "dedup/postgres/transaction.h"
#include "dedup/sink/sink.h"

namespace onceward {

// A message that the sink refused while it was alone.
struct Refusal {
    const Message* message = nullptr;
    // reject: the message is at fault. stop: a table or a role usually causes this error, but other
    // messages of the batch passed, so it is about this message.
    FailureAction action = FailureAction::reject;
    std::string sqlstate;
    std::string reason;   // may quote values of the row
    std::string summary;  // safe for logs
};

class RefusalSearch {
  public:
    struct Target {
        Sink& sink;
        const BatchContext& context;
        // Called after the sink has written a part, with its messages; may throw a PostgresError.
        std::function<void(std::span<const Message* const>)> written = {};
        // How often the failure was seen before (see classify()).
        int earlier = 0;
        // The sender sends a refused message again, and nothing of it is stored. Then an error that
        // may_be_about_one() excludes counts for its message too, and any number of messages may
        // get an error whose action is `stop`, unless all do.
        bool tried_again = false;
    };
    // Returns the messages that are refused on their own, in their order; empty if none is. Throws
    // what no single message caused: a PostgresError that is to be retried, one that every message
    // gets, or, unless `tried_again`, one whose action is `stop` and that more than a few messages
    // get; SinkMismatch likewise. REQUIRES: their keys are claimed in this transaction, which the
    // caller rolls back.
    std::vector<Refusal> run(Transaction& transaction, const Target& target,
                             std::span<const Message* const> messages);
    // Whether at least one of so many messages is refused at the rate of the last search. Then a
    // search before the first write costs less than one after it.
    bool expects_one_of(std::size_t messages) const;

  private:
    std::size_t part_ = 0;  // the size of the first parts; 0: not known
};

}  // namespace onceward
