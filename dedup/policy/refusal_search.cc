#include "dedup/policy/refusal_search.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "schemas/queries.h"

namespace onceward {
namespace {

// If more messages of a batch than these get an error of the table or the role, then the table or
// the role is at fault, and none of the messages goes to the dead letters.
constexpr std::size_t most_stopped = 3;
// If the sender tries again, the table or the role is at fault only if all of these get such an
// error: the most messages that are tried one by one in order to find that out.
constexpr std::size_t most_asked = 16;
// How many parts, while it is not known how many messages are refused: few, so that a fault that
// all messages meet is seen after a few tries.
constexpr std::size_t first_parts = 16;
// A part that is refused and not larger is tried message by message.
constexpr std::size_t small_part = 16;
// In this round and later ones every message is alone.
constexpr int last_round_of_parts = 4;

using Messages = std::span<const Message* const>;
using Statements = std::vector<Connection::Statement>;

struct Part {
    Messages messages;
    std::optional<Refusal> refusal = {};  // of the last round
    // The server has written it, and its answers were refused. It is in no later round, since what
    // it wrote would stand in the way of others.
    bool left_out = false;
    bool refused() const { return refusal.has_value(); }
    bool stopped() const { return refused() && refusal->action == FailureAction::stop; }
};

std::size_t rounded_root(std::size_t number) {
    return static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(number))));
}

// Tries all parts in the order of their messages, in rounds that all begin from the same state.
// A part that is refused is smaller in the next round. In the last round each message was
// tried after all those before it that passed, as if the messages came one by one.
class Search {
  public:
    Search(Transaction& transaction, const RefusalSearch::Target& target)
        : transaction_(transaction),
          target_(target),
          together_(target.sink.begin_parts(transaction)) {}

    std::vector<Refusal> run(Messages messages, std::size_t size) {
        transaction_.pipelined({{sql::sink_search_begin}});
        cut(messages, size, parts_);
        do {
            try_parts();
            if (round_ == 0 && target_.tried_again && all_are_stopped()) {
                std::rethrow_exception(last_stop_);
            }
        } while (next_round());
        std::vector<Refusal> refusals;
        for (Part& part : parts_) {
            if (!part.refusal) continue;
            part.refusal->message = part.messages.front();
            refusals.push_back(std::move(*part.refusal));
        }
        const bool none_passed = refusals.size() == parts_.size();
        const bool is_of_all = target_.tried_again ? std::ranges::all_of(refusals, is_stop)
                                                   : std::ranges::any_of(refusals, is_stop);
        if (none_passed && is_of_all) std::rethrow_exception(last_stop_);
        return refusals;
    }

  private:
    static bool is_stop(const Refusal& refusal) { return refusal.action == FailureAction::stop; }
    static void cut(Messages messages, std::size_t size, std::vector<Part>& parts) {
        while (!messages.empty()) {
            parts.push_back({messages.first(std::min(size, messages.size()))});
            messages = messages.subspan(parts.back().messages.size());
        }
    }

    // One message may be why a part is refused, so this tries messages alone. They are spread over
    // the batch, because what one sender has sent at once is together in it. Their place in a part
    // varies, because senders may take turns.
    bool all_are_stopped() {
        if (stopped_ == 0 || !std::ranges::all_of(parts_, &Part::refused)) return false;
        const std::size_t step = (parts_.size() + most_asked - 1) / most_asked;
        std::vector<Part> asked;
        for (std::size_t i = 0; i < parts_.size(); i += step) {
            const Messages& part = parts_[i].messages;
            asked.push_back({part.subspan(asked.size() % part.size(), 1)});
        }
        std::swap(parts_, asked);
        try_parts();
        std::swap(parts_, asked);
        return std::ranges::all_of(asked, &Part::stopped);
    }

    void try_parts() {
        stopped_ = 0;
        for (Part& part : parts_) {
            if (!part.left_out) {
                part.refusal.reset();
            } else if (part.stopped()) {
                ++stopped_;
            }
        }
        if (together_) {
            try_together();
        } else {
            try_one_by_one();
        }
    }

    // All in one round trip: the savepoint after a part is the one that undoes the next part.
    // After a part that passed, nothing is undone.
    void try_together() {
        std::vector<std::vector<SinkStatement>> writes;
        std::vector<Part*> tried;
        for (Part& part : parts_) {
            if (part.left_out) continue;
            judged(part, [&] {
                writes.push_back(target_.sink.part(target_.context, part.messages));
                tried.push_back(&part);
            });
        }
        std::vector<Statements> groups;
        groups.push_back({{sql::sink_part_begin}});
        for (const std::vector<SinkStatement>& statements : writes) {
            Statements& group = groups.emplace_back(Statements{{sql::sink_part_undo}});
            for (const SinkStatement& one : statements) {
                group.push_back({one.sql, one.parameters, one.names});
            }
            for (const Connection::Statement& one : after_part()) group.push_back(one);
        }
        groups.push_back({{sql::sink_part_undo}});
        if (!check_parts_) groups.back().push_back({sql::sink_constraints});
        groups.push_back({{sql::sink_search_undo}});
        std::vector<Connection::Answers> answers = transaction_.grouped(groups);
        for (const Connection::Answers* ours : {&answers.front(), &answers.back()}) {
            if (ours->error) throw PostgresError(*ours->error);
        }
        for (std::size_t i = 0; i < tried.size(); ++i) take(*tried[i], writes[i], answers[i + 1]);
        judge_the_end([&] {
            const auto& error = answers[answers.size() - 2].error;
            if (error) throw PostgresError(*error);
        });
    }

    void take(Part& part, const std::vector<SinkStatement>& writes, Connection::Answers& answers) {
        judged(part, [&] {
            if (answers.error) throw PostgresError(*answers.error);
        });
        if (part.refusal) return;
        judged(part, [&] {
            const std::span<const QueryResult> results = answers.results;
            target_.sink.part_written(results.subspan(1, writes.size()), part.messages);
            if (target_.written) target_.written(part.messages);
        });
        part.left_out = part.refusal.has_value();
        again_ = again_ || part.left_out;
    }

    void try_one_by_one() {
        const Statements after = after_part();
        // The first two only prepare the statements: a failed transaction prepares none.
        transaction_.pipelined(
            {{sql::sink_part_begin}, {sql::sink_part_keep}, {sql::sink_part_begin}});
        for (Part& part : parts_) {
            judged(part, [&] {
                target_.sink.write(transaction_, target_.context, part.messages);
                if (target_.written) target_.written(part.messages);
                transaction_.pipelined(after);
            });
            if (part.refusal) transaction_.pipelined({{sql::sink_part_undo}});
        }
        judge_the_end([&] {
            if (!check_parts_) transaction_.pipelined({{sql::sink_constraints}});
        });
        transaction_.pipelined({{sql::sink_search_undo}});
    }

    // Judges what all parts together have deferred. If that is refused, the next round checks after
    // each part: a part alone may lack a row that a later one has.
    template <class Check>
    void judge_the_end(Check check) {
        Part all;
        judged(all, check);
        if (!all.refusal) return;
        check_parts_ = true;
        again_ = true;
    }

    // What the check changes is undone after it: SET CONSTRAINTS would hold for all later parts,
    // and refuse in them what the table checks only at the end.
    Statements after_part() const {
        Statements after;
        if (check_parts_) {
            for (const std::string_view sql :
                 {sql::sink_check_begin, sql::sink_constraints, sql::sink_check_end}) {
                after.push_back({sql});
            }
        }
        after.push_back({sql::sink_part_keep});
        after.push_back({sql::sink_part_begin});
        return after;
    }

    template <class Try>
    void judged(Part& part, Try attempt) try {
        attempt();
    } catch (const PostgresError& error) {
        const FailureAction action = classify(error.diagnosis(), Origin::sink, target_.earlier);
        if (action != FailureAction::reject && action != FailureAction::stop) throw;
        const bool stops = action == FailureAction::stop;
        if (stops && !target_.tried_again && !may_be_about_one(error.diagnosis())) throw;
        part.refusal =
            Refusal{nullptr, action, error.sqlstate(), error.diagnosis().message, error.summary()};
        if (stops) stopped();
    } catch (const ResultMismatch& error) {
        part.refusal = Refusal{nullptr, FailureAction::stop, "", error.what(), error.what()};
        stopped();
    }

    // Called while the error is handled.
    void stopped() {
        last_stop_ = std::current_exception();
        if (++stopped_ > most_stopped && !target_.tried_again) throw;
    }

    // Returns whether another round is needed. If so, what was refused is in smaller parts.
    bool next_round() {
        const bool joins_parts = ++round_ == 1 && !check_parts_;
        const bool alone = round_ >= last_round_of_parts;
        bool again = std::exchange(again_, false);
        bool joins = false;
        std::vector<Part> parts;
        for (const Part& part : parts_) {
            const std::size_t size = part.messages.size();
            const bool passed = !part.refusal;
            again = again || (!passed && size > 1);
            if (size > 1 && (alone || !passed)) {
                cut(part.messages, alone || size <= small_part ? 1 : rounded_root(size), parts);
            } else if (joins_parts && passed && joins) {
                Messages& before = parts.back().messages;
                before = Messages(before.data(), before.size() + size);
            } else {
                parts.push_back(part);
            }
            joins = passed;
        }
        if (again) parts_ = std::move(parts);
        return again;
    }

    Transaction& transaction_;
    const RefusalSearch::Target& target_;
    const bool together_;
    bool check_parts_ = false;  // check deferred constraints after each part, not only at the end
    bool again_ = false;        // something else than a refused part needs another round
    int round_ = 0;
    std::vector<Part> parts_;
    std::exception_ptr last_stop_;
    std::size_t stopped_ = 0;  // parts of this round
};

}  // namespace

std::vector<Refusal> RefusalSearch::run(Transaction& transaction, const Target& target,
                                        std::span<const Message* const> messages) {
    if (messages.empty()) return {};
    const std::size_t few = std::max<std::size_t>(1, messages.size() / first_parts);
    const std::size_t size = part_ == 0 ? few : part_;
    std::vector<Refusal> refusals = Search(transaction, target).run(messages, size);
    const std::size_t count = refusals.size();
    // The size at which the two rounds take the fewest parts, if as many are refused next time.
    part_ = count == 0 ? 0 : std::max<std::size_t>(1, rounded_root(messages.size() / count));
    return refusals;
}

bool RefusalSearch::expects_one_of(std::size_t messages) const {
    return part_ != 0 && messages > 1 && messages >= part_ * part_;
}

}  // namespace onceward
