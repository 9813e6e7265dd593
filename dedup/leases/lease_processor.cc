#include "dedup/leases/lease_processor.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "dedup/base/expects.h"
#include "dedup/base/logging.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// The first pause of a partition whose effects do not succeed; doubled up to MessageRetries' limit.
constexpr milliseconds first_pause = 1s;
// How soon to ask again for a key that another worker is processing.
constexpr milliseconds first_question = 200ms;
constexpr milliseconds longest_question = 5s;
constexpr int no_end = std::numeric_limits<int>::max();

// Only what may be begun soon is claimed: a crash leaves claimed keys in flight for a lease.
constexpr std::size_t claimed_ahead = 2;

}  // namespace

LeaseProcessor::LeaseProcessor(BatchContext context, RejectPolicy policy, Leases leases,
                               Parts parts, Committed committed)
    : context_(std::move(context)),
      policy_(policy),
      leases_(std::move(leases)),
      parts_(std::move(parts)),
      committed_(std::move(committed)),
      rejections_(policy),
      trace_(parts_.tracer, context_.consumer_group, context_.topic),
      waited_(no_end, first_pause),
      elsewhere_(no_end, first_question) {}

LeaseProcessor::~LeaseProcessor() { abandon(); }

void LeaseProcessor::start(Batch batch) {
    expects(idle(), "a batch is started after the one before it has ended");
    trace_.end();
    batch_ = std::move(batch);
    finished_.release();
    items_.clear();
    trace_.begin(batch_);
    for (const Span& span : batch_.spans) {
        if (span.begin < span.end) prefixes_.emplace(span.partition, FinishedPrefix(span));
    }
    for (Chunk& chunk : batch_.chunks) {
        for (Message& message : chunk.messages) {
            if (message.deferred && parts_.finish) parts_.finish(message, finished_);
            Item item;
            item.message = &message;
            item.number = ++last_number_;
            prefixes_.at(item.partition()).add(item.offset(), message.record.leader_epoch);
            const bool halts = policy_.action == RejectPolicy::Action::halt;
            if (message.rejection && halts) {
                change(item, LeaseStep::halt);
            } else if (message.rejection) {
                end(item, LeaseStep::settle, MessageEnd::dead_lettered);
            } else if (message.skipped) {
                end(item, LeaseStep::settle, MessageEnd::skipped);
            }
            items_.push_back(std::move(item));
        }
    }
}

std::set<Partition> LeaseProcessor::run(Connection& connection) {
    try {
        while (!idle()) {
            std::set<Partition> missed = write_ends(connection);
            if (missed.empty()) {
                give_back(connection);
                missed = claim(connection);
            }
            if (!missed.empty()) {
                abandon(missed);
                return missed;
            }
            if (idle()) break;
            extend(connection);
            begin_effects();
            collect();
        }
    } catch (const PostgresError& error) {
        trace_.failed(error.sqlstate());
        throw ProcessingError(error, failures_.met(error, Origin::ours));
    }
    trace_.end();
    batch_ = {};
    return {};
}

void LeaseProcessor::abandon() {
    for (const Item& item : items_) {
        if (item.state == LeaseState::called) parts_.effects.cancel(item.number);
    }
    items_.clear();
    prefixes_.clear();
    waits_.clear();
    halting_.reset();
    trace_.end();
    batch_ = {};
}

void LeaseProcessor::abandon(const std::set<Partition>& partitions) {
    if (partitions.empty()) return;
    std::erase_if(items_, [&](const Item& item) {
        if (!partitions.contains(item.partition())) return false;
        if (item.state == LeaseState::called) parts_.effects.cancel(item.number);
        return true;
    });
    for (const Partition partition : partitions) {
        prefixes_.erase(partition);
        waits_.erase(partition);
    }
}

LeaseProcessor::Item& LeaseProcessor::item_at(Partition partition, Offset offset) {
    const auto found = std::ranges::find_if(items_, [&](const Item& item) {
        return item.partition() == partition && item.offset() == offset;
    });
    if (found == items_.end()) throw std::logic_error("a message is no longer in its batch");
    return *found;
}

// Whether nothing more is to be begun for it.
bool LeaseProcessor::stands(Partition partition) const {
    return halting_ || waits_.contains(partition) || leaving_.contains(partition);
}

// Whether nothing of it is under way, and all that has ended is written down.
bool LeaseProcessor::quiet(Partition partition) const {
    return std::ranges::none_of(items_, [&](const Item& item) {
        return item.partition() == partition &&
               (item.state == LeaseState::called || item.state == LeaseState::ended);
    });
}

bool LeaseProcessor::change(Item& item, LeaseStep step) const {
    const std::optional<LeaseState> next = lease_machine.after(item.state, step);
    if (next) {
        item.state = *next;
        return true;
    }
    log_error("lease.wrong_event", {{"topic", context_.topic},
                                    {"partition", item.partition().raw()},
                                    {"offset", item.offset().raw()},
                                    {"digest", hex(item.message->digest)},
                                    {"state", lease_machine.text(item.state)},
                                    {"event", lease_machine.text(step)}});
    return false;
}

void LeaseProcessor::end(Item& item, LeaseStep step, MessageEnd ending) {
    if (change(item, step)) close(item, ending);
}

void LeaseProcessor::close(Item& item, MessageEnd ending) {
    item.ending = ending;
    prefixes_.at(item.partition()).finish(item.offset(), ending);
}

void LeaseProcessor::tell(LeaseEvent event) const {
    if (parts_.tell) parts_.tell(event);
}

// From now on its new owner writes down how it ends.
void LeaseProcessor::lose(Item& item) const {
    change(item, LeaseStep::lose);
    tell(LeaseEvent::lost);
    log_warning("lease.lost", {{"topic", context_.topic},
                               {"partition", item.partition().raw()},
                               {"offset", item.offset().raw()},
                               {"digest", hex(item.message->digest)}});
}

void LeaseProcessor::wait(const Item& item, int tried, milliseconds pause,
                          const std::string& reason) {
    waits_.try_emplace(item.partition(), Wait{item.offset(), tried, pause, reason});
}

// In batch order. DANGER: messages with the same record key or the same idempotency key are claimed
// one after the other: the next one only when the end of the one before it is written down.
std::vector<LeaseProcessor::Item*> LeaseProcessor::next_claims() {
    std::vector<Item*> wanted;
    std::set<std::pair<Partition, std::string_view>> record_keys;
    std::set<Digest> digests;
    std::set<Partition> walls;  // the topic will stop there
    const auto held = std::ranges::count_if(items_, is_held, &Item::state);
    std::size_t room = claimed_ahead * parts_.effects.concurrency();
    room -= std::min(room, static_cast<std::size_t>(held));
    for (Item& item : items_) {
        if (wanted.size() == room) break;
        if (stops(item.state)) walls.insert(item.partition());
        // DANGER: a refused message still holds its key. If another message with the key were
        // claimed under the same token, the release would free the key during that one's call.
        if (item.state == LeaseState::refused) digests.insert(item.message->digest);
        if (is_closed(item.state)) continue;
        const auto& key = item.message->record.key;
        const bool first = !key || record_keys.emplace(item.partition(), *key).second;
        const bool only = digests.insert(item.message->digest).second;
        const bool free = !stands(item.partition()) && !walls.contains(item.partition());
        if (item.state == LeaseState::open && first && only && free) wanted.push_back(&item);
    }
    return wanted;
}

std::set<Partition> LeaseProcessor::claim(Connection& connection) {
    std::vector<Item*> wanted = next_claims();
    if (wanted.empty()) return {};
    // One more rejected message: nothing is begun beyond the cap.
    if (rejections_.would_exceed(RejectionWindow::Clock::now(), 1, 1)) {
        halting_.emplace(wanted.front()->message->record,
                         "the share of rejected messages is above the topic's cap");
        return {};
    }
    std::ranges::sort(wanted, {}, [](const Item* item) { return item->message->digest; });
    std::vector<Claim> claims;
    for (const Item* item : wanted) {
        const Message& message = *item->message;
        claims.push_back({message.digest, message.fingerprint, item->partition(), item->offset(),
                          judged_at(message)});
    }
    // DANGER: read my clock before the ledger reads its own. Otherwise the lease would end for me
    // later than for others.
    const auto asked = Clock::now();
    std::set<Partition> missed;
    std::optional<std::vector<LeaseAnswer>> answers = ask(connection, claims, missed);
    if (!answers) return missed;
    for (std::size_t i = 0; i < wanted.size(); ++i) take(*wanted[i], (*answers)[i], asked);
    return {};
}

// The fence is locked and checked, and stays where it is.
std::optional<std::vector<LeaseAnswer>> LeaseProcessor::ask(Connection& connection,
                                                            std::span<const Claim> claims,
                                                            std::set<Partition>& missed) {
    std::map<Partition, Span> spans;
    for (const Claim& claim : claims) {
        spans.emplace(claim.partition, prefixes_.at(claim.partition).left());
    }
    std::vector<Span> held;
    for (const auto& [partition, span] : spans) held.push_back(span);
    reached(Step::before_begin);
    OwnedTransaction transaction(connection, OwnedTransaction::Begin::with_first);
    const auto not_mine = parts_.fences.hold(transaction, context_.topic, held);
    missed.insert(not_mine.begin(), not_mine.end());
    if (!missed.empty()) return std::nullopt;
    reached(Step::after_fence);
    std::vector<LeaseAnswer> answers = leases_.claim(transaction, context_, claims);
    reached(Step::after_claims);
    reached(Step::before_commit);
    transaction.commit();
    reached(Step::after_commit);
    failures_.ended();
    return answers;
}

void LeaseProcessor::take(Item& item, LeaseAnswer answer, Clock::time_point asked) {
    const bool mine_before = answer.own_place && !answer.counted;
    switch (answer.verdict) {
        case LeaseVerdict::mine:
            if (!change(item, LeaseStep::claim)) return;
            item.attempts = answer.attempts;
            item.tries = 0;
            item.held_until = asked + leases_.lease();
            if (answer.taken_over) {
                tell(LeaseEvent::taken_over);
                log_info("lease.taken_over", {{"topic", context_.topic},
                                              {"partition", item.partition().raw()},
                                              {"offset", item.offset().raw()},
                                              {"digest", hex(item.message->digest)},
                                              {"attempts", answer.attempts}});
            }
            return;
        case LeaseVerdict::in_flight: {
            const auto pause = elsewhere_.next(item.partition(), item.offset());
            wait(item, elsewhere_.tried(item.partition(), item.offset()),
                 std::min({*pause, longest_question, answer.left + first_question}),
                 "another message with its key is in flight");
            return;
        }
        case LeaseVerdict::done:
        case LeaseVerdict::failed: {
            if (!mine_before) return end(item, LeaseStep::settle, MessageEnd::duplicate);
            // The dead letter of a failed one was written with its end.
            const bool failed = answer.verdict == LeaseVerdict::failed;
            return end(item, LeaseStep::find_end,
                       failed ? MessageEnd::dead_lettered : MessageEnd::applied);
        }
        case LeaseVerdict::conflict: return conflict(item, std::move(answer.earlier));
        case LeaseVerdict::late: return refuse(item, Verdict::late);
        case LeaseVerdict::early: return refuse(item, Verdict::early);
    }
}

void LeaseProcessor::refuse(Item& item, Verdict verdict) {
    item.message->rejection = refusal_of(verdict);
    log_warning("messages.rejected", {{"topic", context_.topic},
                                      {"messages", 1},
                                      {"partition", item.partition().raw()},
                                      {"offset", item.offset().raw()},
                                      {"class", to_text(item.message->rejection->kind)},
                                      {"error", describe(*item.message->rejection)}});
    if (policy_.action == RejectPolicy::Action::halt) {
        change(item, LeaseStep::halt);
    } else {
        end(item, LeaseStep::settle, MessageEnd::dead_lettered);
    }
}

void LeaseProcessor::conflict(Item& item, std::optional<EarlierClaim> earlier) {
    using OnConflict = RejectPolicy::OnConflict;
    item.earlier = std::move(earlier);
    log_warning("messages.conflict", {{"topic", context_.topic},
                                      {"messages", 1},
                                      {"partition", item.partition().raw()},
                                      {"offset", item.offset().raw()}});
    const OnConflict action = policy_.conflict_action();
    if (action != OnConflict::ignore) {
        item.message->rejection = Rejection{
            Rejection::Kind::conflict, "the key was used before with another fingerprint", "", 1};
    }
    switch (action) {
        case OnConflict::ignore:
        case OnConflict::dead_letter: return end(item, LeaseStep::settle, MessageEnd::conflict);
        case OnConflict::halt: change(item, LeaseStep::halt); return;
    }
}

}  // namespace onceward
