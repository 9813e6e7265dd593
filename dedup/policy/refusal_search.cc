#include "dedup/policy/refusal_search.h"

#include <algorithm>
#include <exception>

#include "schemas/queries.h"

namespace onceward {
namespace {

// If more messages of a batch than these get an error of the table or the role, then the table or
// the role is at fault, and none of the messages goes to the dead letters.
constexpr std::size_t most_stopped = 3;

using Messages = std::span<const Message* const>;

struct Part {
    Messages messages;
    bool refused = false;  // known without a try
    bool second = false;   // the second half of a part that was refused
};

class Search {
  public:
    Search(Transaction& transaction, const RefusalSearch::Target& target)
        : transaction_(transaction), target_(target) {}

    std::vector<Refusal> run(Messages messages, std::size_t part) {
        const Parameters none;
        // The first two only prepare the statements: a failed transaction prepares none.
        transaction_.pipelined({{sql::sink_part_begin, none, {}},
                                {sql::sink_part_keep, none, {}},
                                {sql::sink_part_begin, none, {}}});
        while (!messages.empty()) {
            const std::size_t size = std::min(part, messages.size());
            parts_.push_back({messages.last(size)});
            messages = messages.first(messages.size() - size);
        }
        while (!parts_.empty()) {
            const Part next = parts_.back();
            parts_.pop_back();
            if (next.refused && next.messages.size() > 1) {
                halve(next.messages);
            } else {
                try_part(next);
            }
        }
        if (!taken_ && stopped_ > 0) std::rethrow_exception(last_stop_);
        return std::move(refusals_);
    }

  private:
    void halve(Messages messages) {
        const std::size_t middle = messages.size() / 2;
        parts_.push_back({messages.subspan(middle), false, true});
        parts_.push_back({messages.first(middle)});
    }

    void try_part(const Part& part) {
        if (taken(part.messages)) {
            taken_ = true;
            // The whole was refused and this half passed: the other half is refused.
            const bool first = !part.second && !parts_.empty() && parts_.back().second;
            if (first) parts_.back().refused = true;
        } else if (part.messages.size() > 1) {
            halve(part.messages);
        }
    }

    bool taken(Messages messages) try {
        const Parameters none;
        target_.sink.write(transaction_, target_.context, messages);
        if (target_.written) target_.written(messages);
        // What the check changes is undone with it: SET CONSTRAINTS would hold for all later parts,
        // and refuse in them what the table checks at the end alone.
        transaction_.pipelined({{sql::sink_check_begin, none, {}},
                                {sql::sink_constraints, none, {}},
                                {sql::sink_check_end, none, {}},
                                {sql::sink_part_keep, none, {}},
                                {sql::sink_part_begin, none, {}}});
        return true;
    } catch (const PostgresError& error) {
        const FailureAction action = classify(error.diagnosis(), Origin::sink, target_.earlier);
        if (action != FailureAction::reject && action != FailureAction::stop) throw;
        const bool stops = action == FailureAction::stop;
        if (stops && !target_.tried_again && !may_be_about_one(error.diagnosis())) throw;
        refused(messages, action,
                {nullptr, action, error.sqlstate(), error.diagnosis().message, error.summary()});
        return false;
    } catch (const ResultMismatch& error) {
        refused(messages, FailureAction::stop,
                {nullptr, FailureAction::stop, "", error.what(), error.what()});
        return false;
    }

    // Called while the error is handled.
    void refused(Messages messages, FailureAction action, Refusal refusal) {
        if (messages.size() == 1) {
            refusal.message = messages.front();
            refusals_.push_back(std::move(refusal));
            if (action == FailureAction::stop) {
                last_stop_ = std::current_exception();
                if (++stopped_ > most_stopped) throw;
            }
        }
        const Parameters none;
        transaction_.pipelined({{sql::sink_part_undo, none, {}}});  // the savepoint stays
    }

    Transaction& transaction_;
    const RefusalSearch::Target& target_;
    std::vector<Part> parts_;  // the last one is next
    std::vector<Refusal> refusals_;
    std::exception_ptr last_stop_;
    std::size_t stopped_ = 0;
    bool taken_ = false;
};

}  // namespace

std::vector<Refusal> RefusalSearch::run(Transaction& transaction, const Target& target,
                                        std::span<const Message* const> messages) {
    const std::size_t half = (messages.size() + 1) / 2;
    const std::size_t part = part_ == 0 ? half : std::min(part_, half);
    std::vector<Refusal> refusals = Search(transaction, target).run(messages, part);
    // If as many are refused next time, about every second part passes as a whole.
    const std::size_t count = refusals.size();
    part_ = count == 0 ? 0 : std::max<std::size_t>(1, messages.size() * 7 / 10 / count);
    return refusals;
}

}  // namespace onceward
