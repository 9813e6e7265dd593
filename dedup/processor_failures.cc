// What happens to a slice whose transaction failed: smaller slices, another try, the dead letters.

#include <algorithm>
#include <utility>

#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"
#include "dedup/processor.h"

namespace onceward {
namespace {

// Time-outs of the same statement in a row before a message that is alone holds its partition.
constexpr int patience = 4;

}  // namespace

// If claims are only presumed, a refusal is no verdict yet: the sink's constraint may have met the
// row of a duplicate that another worker has just applied.
bool Processor::met_a_duplicate(Connection& connection) {
    try {
        return parts_.claims != nullptr && parts_.claims->reconsider(connection);
    } catch (const PostgresError& error) {
        throw ProcessingError(error, meaning_of(error));
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

// After a statement time-out batches stay small for a while: each large one would time out first.
void Processor::cut_to_size() {
    while (!pending_.empty() && pending_.back().messages.size() > most_) {
        Halves parts = cut(pending_.back(), most_);
        pending_.back() = std::move(parts.first);
        pending_.push_back(std::move(parts.second));
    }
}

// Doubles the size as soon as a full batch takes less than an eighth of the limit.
void Processor::took(std::size_t messages, std::chrono::steady_clock::duration time,
                     std::chrono::milliseconds limit) {
    if (messages < most_ || time > limit / 8) return;
    constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    most_ = most_ > none / 2 ? none : 2 * most_;
}

// The sink's statement timed out, or repeatedly exhausted what the server gives it. Fewer messages
// at once may pass. A single message holds its partition until an operator decides; it never goes
// to the dead letters by itself, since the fault may be the server's.
bool Processor::too_much(const PostgresError& error) {
    const std::string& code = error.sqlstate();
    const bool exhausted = code == "53200" || code == "53400";
    const bool known = code == sqlstate::query_canceled || exhausted;
    if (origin_ != Origin::sink || !known || error.diagnosis().connection_lost) return false;
    const bool alone = pending_.front().messages.size() < 2;
    if ((alone || exhausted) && failures_.repeated() < patience) return false;
    Slice slice = take_front();
    if (slice.messages.empty()) throw ProcessingError(error, FailureAction::stop);
    const Record& record = slice.messages.front()->record;
    if (alone) {
        throw TopicHalted(
            record,
            "the message at partition " + std::to_string(record.partition.raw()) + ", offset " +
                std::to_string(record.offset.raw()) + " alone runs into " +
                (exhausted ? "the server's memory or temp_file_limit (" : "statement_timeout (") +
                code + "); pass it with `onceward offsets --set`");
    }
    log_warning("batch.halved", {{"topic", context_.topic},
                                 {"messages", slice.messages.size()},
                                 {"partition", record.partition.raw()},
                                 {"offset", record.offset.raw()},
                                 {"sqlstate", code}});
    // DANGER: do not call forgive() if the server was exhausted. That failure reconnects, and the
    // whole batch would be read again, for ever.
    if (!exhausted) {
        failures_.forgive();
        most_ = std::max<std::size_t>(1, slice.messages.size() / 2);
    }
    put_back(halve(slice));
    return true;
}

// Returns whether the next attempt at the front slice searches for the messages that the sink
// refuses. False if the slice has a single message, or was searched just before.
bool Processor::begin_search() {
    searching_ = !searching_ && !pending_.empty() && pending_.front().messages.size() > 1;
    return searching_;
}

void Processor::failed(const PostgresError& error, Connection& connection) {
    const FailureAction action = failures_.met(error, origin_);
    const bool about_messages =
        action == FailureAction::reject ||
        (action == FailureAction::stop && origin_ == Origin::sink &&
         may_be_about_one(error.diagnosis()) && !mutant("own_sqlstate_stops_the_topic"));
    const bool searched = std::exchange(searching_, false);
    if (too_much(error)) return;
    if (action == FailureAction::reject && met_a_duplicate(connection)) return;
    if (about_messages && !searched && begin_search()) return;
    if (action == FailureAction::reject) return reject_alone(error);
    throw ProcessingError(error, action);
}

// DANGER: this runs in a transaction that has claimed the keys and is never committed. Without the
// claims the sink could refuse a row only because another worker has just written that key's row.
void Processor::search(Transaction& transaction, const SliceOutcomes& sorted) {
    origin_ = Origin::sink;
    RefusalSearch::Target target{
        .sink = parts_.sink, .context = context_, .earlier = failures_.repeated()};
    if (parts_.answers != nullptr) {
        target.written = [this](std::span<const Message* const> written) {
            parts_.answers->take(parts_.sink, written);
        };
    }
    refusals_ = search_.run(transaction, target, sorted.fresh);
}

// Marks what the search found: with the next attempt it goes to the dead letters, or it waits.
void Processor::refuse(Connection& connection) {
    searching_ = false;
    const std::vector<Refusal> refusals = std::exchange(refusals_, {});
    if (met_a_duplicate(connection)) return;
    ++failing_slices_;
    if (refusals.empty()) {
        // They are refused only together, or no longer at all. A message that is left alone,
        // because other partitions were given up meanwhile, is tried as usual.
        if (pending_.front().messages.size() > 1) put_back(halve(take_front()));
        return;
    }
    std::set<std::string_view> keys;
    std::vector<const Message*> waiting;
    auto next = refusals.begin();
    for (Message* message : pending_.front().messages) {
        if (next == refusals.end()) break;
        if (next->message != message) continue;
        const Refusal& refusal = *next++;
        const std::optional<std::string_view> key = message->record.key;
        // A later message of the same record key follows that dead letter, whatever the sink says.
        const bool by_key = policy_.order == RejectPolicy::Order::by_key && key;
        if (by_key && !keys.insert(*key).second) continue;
        if (policy_.retries > 0 && may_pass(refusal.sqlstate)) {
            waiting.push_back(message);
        } else {
            reject(*message, refusal);
        }
    }
    for (auto at = waiting.rbegin(); at != waiting.rend(); ++at) set_apart(*at);
}

// The front slice is cut so that this message is alone.
void Processor::set_apart(const Message* message) {
    Slice slice = take_front();
    const auto at = static_cast<std::size_t>(std::ranges::find(slice.messages, message) -
                                             slice.messages.begin());
    if (at + 1 < slice.messages.size()) {
        Halves parts = cut(slice, at + 1);
        pending_.push_front(std::move(parts.second));
        slice = std::move(parts.first);
    }
    if (at > 0) {
        put_back(cut(slice, at));
    } else {
        pending_.push_front(std::move(slice));
    }
}

// For a message in a transaction of its own: it waits if another try may help, else it goes to the
// dead letters.
void Processor::reject_alone(const PostgresError& error) {
    const std::vector<Message*>& messages = pending_.front().messages;
    // No message to blame: the slice is empty, the sink did not get its message, or it holds many
    // and none was refused alone.
    if (messages.size() != 1 || messages.front()->rejection) {
        throw ProcessingError(error, FailureAction::stop);
    }
    Message& message = *messages.front();
    const Record& record = message.record;
    if (may_pass(error.sqlstate())) {
        if (const auto pause = retries_.next(record.partition, record.offset)) {
            throw MessageWaits(record, retries_.tried(record.partition, record.offset), *pause,
                               error.summary());
        }
    }
    reject(message, {&message, FailureAction::reject, error.sqlstate(), error.diagnosis().message,
                     error.summary()});
}

void Processor::reject(Message& message, const Refusal& refusal) {
    const Record& record = message.record;
    const int tried = retries_.tried(record.partition, record.offset);
    message.rejection = Rejection{Rejection::Kind::sink, refusal.reason, refusal.sqlstate,
                                  tried > 0 ? tried + 1 : failing_slices_ + 1};
    log_warning("message.rejected", {{"topic", context_.topic},
                                     {"partition", record.partition.raw()},
                                     {"offset", record.offset.raw()},
                                     {"digest", hex(message.digest)},
                                     {"error", refusal.summary}});
}

}  // namespace onceward
