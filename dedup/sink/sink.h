#pragma once
// Where the effects go. Implement this for code of your own; tests/conformance/ holds every sink to
// the same contract. One object for each worker and topic. encode() runs on the reader's thread,
// and sometimes on the writer's at the same time, so it must change nothing that is shared;
// prepare() and write() run on the writer's thread, prepare() before either.

#include <memory_resource>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/message/message.h"
#include "dedup/postgres/transaction.h"
#include "dedup/sink/message_result.h"
#include "dedup/sink/preview.h"

namespace onceward {

// The sink's target does not fit: a missing table or column, another type, no privilege. Its topic
// stops, loudly, and is tried again slowly; no message goes to the dead letters for it.
class SinkMismatch : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The answer of the sink's target for some of the messages is not acceptable: another number of
// rows, or a value that is no result. If only a few messages of a batch get one, they are refused
// and the others continue; else it counts as a SinkMismatch.
class ResultMismatch : public SinkMismatch {
  public:
    using SinkMismatch::SinkMismatch;
};

struct BatchContext {
    std::string consumer_group;
    std::string topic;
};

class Effects;

// `sql` and `names` may be views of the sink's own; they last until the next prepare().
using SinkStatement = Connection::Planned;

class Sink {
  public:
    virtual ~Sink() = default;
    // Not null if the sink's effects are outside of PostgreSQL. They then go through this object,
    // under a ledger with `store: lease`, and write() is never called. Null: write() writes them.
    virtual Effects* effects() { return nullptr; }
    // Which parts of a message the sink reads; Message::fields holds them in this order. Called
    // once, before prepare().
    virtual std::vector<FieldSource> fields() const { return {}; }
    // Checks the target (catalog, types, privileges) outside the messages' transactions. Throws
    // SinkMismatch or PostgresError. Called at start, after each reconnect and before a stopped
    // topic is tried again.
    virtual void prepare(Connection&) {}
    // The target as it is now, in a form that is only compared; '' if the sink cannot say. Called
    // before prepare(), and every two seconds while the topic is stopped: if it has changed, the
    // topic is tried again at once. Throws PostgresError.
    virtual std::string target_state(Connection&) { return {}; }
    // What an operator should know of how the target is written, as the end of a sentence; '' if
    // there is nothing, or before prepare().
    virtual std::string note() const { return {}; }
    // Turns the message's fields into Message::encoded, or says why they fit no row. No I/O.
    virtual std::optional<Rejection> encode(Message&, std::pmr::memory_resource&) const {
        return std::nullopt;
    }
    // The next two are for tests of a configuration, without a database. The first takes the
    // target's columns in place of prepare(), and throws SinkMismatch. The second says what write()
    // would write for a message that encode() took; empty if the sink cannot say.
    virtual void prepare_offline(const ColumnTypes&) {}
    virtual std::vector<Preview> preview(const Message&) const { return {}; }
    // Writes these messages, in this order, in the given transaction: all or none. A PostgresError
    // from here is classified by its SQLSTATE (dedup/policy/failure.h): if it is about a message,
    // parts of the batch are tried until that message is found. May be called several times for the
    // same message, in one transaction after a savepoint was rolled back, or in several of which
    // one commits at most.
    virtual void write(Transaction& transaction, const BatchContext& context,
                       std::span<const Message* const> messages) = 0;
    // The results of the messages of the last write(), one for each in its order; empty if the sink
    // has none. Called once after a successful write(), if the topic stores results.
    virtual std::vector<MessageResult> take_results() { return {}; }

    // What write() would do as statements of one round trip, which fail if the target is not what
    // prepare() saw. nullopt if the sink needs answers on the way, or gives results. May throw as
    // write().
    virtual std::optional<std::vector<SinkStatement>> at_once(const BatchContext&,
                                                              std::span<const Message* const>) {
        return std::nullopt;
    }

    // The next three are for the search of refused messages, which tries many parts of a batch. A
    // sink that has them says what write() would do as statements, and all parts are tried in one
    // round trip. Without them write() is called for each part.
    //
    // Called once in the search's transaction; what write() does first belongs here. Returns false
    // if the sink has no statements.
    virtual bool begin_parts(Transaction&) { return false; }
    // The statements that write these messages, for the same rows as write(). May throw as write().
    virtual std::vector<SinkStatement> part(const BatchContext&, std::span<const Message* const>) {
        return {};
    }
    // Their results, if all passed; take_results() may be called then. May throw as write().
    virtual void part_written(std::span<const QueryResult>, std::span<const Message* const>) {}
};

}  // namespace onceward
