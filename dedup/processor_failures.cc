// What becomes of a slice whose transaction failed: smaller slices, another try, the dead letters.

#include "dedup/log.h"
#include "dedup/processor.h"

namespace onceward {
namespace {

// After this many failing slices of a batch the rest is tried one message at a time: many are bad,
// halving is waste.
constexpr int halvings = 3;
// Time-outs of the same statement in a row before it is tried with fewer messages.
constexpr int patience = 4;

}  // namespace

// A refusal is no verdict yet where claims are only presumed: the sink's constraint may have met
// the row of a duplicate that another worker has just applied.
bool Processor::met_a_duplicate(Connection& connection) {
    try {
        return parts_.claims != nullptr && parts_.claims->reconsider(connection);
    } catch (const PostgresError& error) {
        throw ProcessingError(error, classify(error.diagnosis(), Origin::ours, 0));
    }
}

Slice Processor::take_front() {
    Slice slice = std::move(pending_.front());
    pending_.pop_front();
    return slice;
}

void Processor::put_back(Halves halves) {
    pending_.push_front(std::move(halves.second));
    pending_.push_front(std::move(halves.first));
}

// The sink's statement runs into its time-out, or out of what the server gives it, again and again:
// fewer messages at once may do, and one that is alone holds its partition until somebody has
// looked. It never goes to the dead letters by itself: the fault may be the server's.
bool Processor::too_much(const PostgresError& error) {
    const std::string& code = error.sqlstate();
    const bool exhausted = code == "53200" || code == "53400";
    const bool known = code == "57014" || exhausted;
    if (origin_ != Origin::sink || !known || repeated_ < patience ||
        error.diagnosis().connection_lost) {
        return false;
    }
    Slice slice = take_front();
    if (slice.messages.size() < 2) {
        const Record& record = slice.messages.front()->record;
        throw TopicHalted(
            record.partition, record.offset,
            "the message at partition " + std::to_string(record.partition.raw()) + ", offset " +
                std::to_string(record.offset.raw()) + " alone runs into " +
                (exhausted ? "the server's memory or temp_file_limit (" : "statement_timeout (") +
                code + "); pass it with `onceward offsets --set`");
    }
    // DANGER: an exhausted one has no patience again. Its failure reconnects, and all of the batch
    // would be read once more, for ever.
    if (!exhausted) repeated_ = 0;
    put_back(halve(slice));
    return true;
}

// A message of the front slice is at fault: halve until it stands alone; then it goes to the dead
// letters.
void Processor::split(const PostgresError& error) {
    // Nothing that halving could tell apart: no message, or one that the sink did not get.
    const std::vector<Message*>& messages = pending_.front().messages;
    if (messages.empty() || (messages.size() == 1 && messages.front()->rejection)) {
        throw ProcessingError(error, FailureAction::stop);
    }
    Slice slice = take_front();
    if (slice.messages.size() == 1) {
        Message& message = *slice.messages.front();
        pending_.push_front(std::move(slice));
        reject(message, error);
        return;
    }
    if (++failing_slices_ > halvings) {
        std::vector<Slice> parts = singles(slice);
        pending_.insert(pending_.begin(), std::make_move_iterator(parts.begin()),
                        std::make_move_iterator(parts.end()));
        return;
    }
    put_back(halve(slice));
}

// The message stands alone: it waits and is tried again where that may help, else it goes to the
// dead letters.
void Processor::reject(Message& message, const PostgresError& error) {
    const Record& record = message.record;
    if (may_pass(error.sqlstate())) {
        if (const auto pause = retries_.next(record.partition, record.offset)) {
            throw MessageWaits(record, retries_.tried(record.partition, record.offset), *pause,
                               error.summary());
        }
    }
    const int tried = retries_.tried(record.partition, record.offset);
    message.rejection = Rejection{Rejection::Kind::sink, error.diagnosis().message,
                                  error.sqlstate(), tried > 0 ? tried + 1 : failing_slices_ + 1};
    log_warning("message.rejected", {{"topic", context_.topic},
                                     {"partition", record.partition.raw()},
                                     {"offset", record.offset.raw()},
                                     {"digest", hex(message.digest)},
                                     {"error", error.summary()}});
}

}  // namespace onceward
