// The lease processor's effects: begun under a lease that lasts long enough, tried again, ended.

#include <algorithm>

#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"
#include "dedup/leases/lease_processor.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// How long the loop waits for an effect at most, before it checks everything else.
constexpr milliseconds longest_wait = 100ms;
constexpr auto never = std::chrono::hours(24 * 365);
// If the other side wishes a longer pause, that is taken for a mistake.
constexpr milliseconds longest_wish = 3600s;

LeaseStep step_of(EffectOutcome::Kind kind, RejectPolicy::Action action) {
    if (kind == EffectOutcome::Kind::again) return LeaseStep::try_again;
    const bool stops = kind == EffectOutcome::Kind::failed && action == RejectPolicy::Action::halt;
    return stops ? LeaseStep::refuse : LeaseStep::end;
}

}  // namespace

std::optional<milliseconds> next_try(const EffectRetries& retries, int tried,
                                     const std::optional<milliseconds>& asked, milliseconds lease) {
    if (tried >= retries.attempts) return std::nullopt;
    // A pause that is longer than the lease is not waited for here.
    const Backoff backoff{.first = retries.backoff, .longest = std::max(retries.backoff, lease)};
    milliseconds delay = backoff.whole(tried + 1);
    if (asked) delay = std::max(delay, *asked);
    if (delay >= lease) return std::nullopt;
    return delay;
}

// The heartbeat, which also writes down what has to be written down before another try. DANGER:
// never make a try whose number is not committed, or whose key is no longer mine.
void LeaseProcessor::extend(Connection& connection) {
    const auto asked = Clock::now();
    std::vector<Item*> held;
    std::vector<LeaseTries> tries;
    bool due = false;
    for (Item& item : items_) {
        if (!is_held(item.state)) continue;
        const bool paused = item.state == LeaseState::pausing && item.not_before <= asked;
        const bool again = paused && !stands(item.partition());
        const bool too_short = (paused || item.state == LeaseState::ready) &&
                               asked + parts_.effects.longest() > item.held_until;
        const bool low = item.held_until - asked < leases_.lease() * 2 / 3;
        due = due || again || too_short || low;
        held.push_back(&item);
        tries.push_back({item.message->digest, again ? 1 : 0});
    }
    if (!due) return;
    const std::vector<Digest> still = leases_.extend(connection, tries);
    const std::set<Digest> mine(still.begin(), still.end());
    for (std::size_t i = 0; i < held.size(); ++i) {
        Item& item = *held[i];
        if (mine.contains(item.message->digest)) {
            item.held_until = asked + leases_.lease();
            item.attempts += tries[i].tries;
            if (tries[i].tries > 0) change(item, LeaseStep::write_try);
            continue;
        }
        if (item.state == LeaseState::called) parts_.effects.cancel(item.number);
        lose(item);
    }
}

void LeaseProcessor::begin_effects() {
    const auto now = Clock::now();
    auto under_way =
        static_cast<std::size_t>(std::ranges::count(items_, LeaseState::called, &Item::state));
    for (Item& item : items_) {
        if (under_way >= parts_.effects.concurrency()) return;
        if (item.state != LeaseState::ready) continue;
        // The whole try has to be within the lease: otherwise extend() comes first.
        if (stands(item.partition()) || now + parts_.effects.longest() > item.held_until) continue;
        if (!change(item, LeaseStep::begin)) continue;
        parts_.effects.begin({item.number, item.message});
        ++under_way;
    }
}

// How long the loop may wait: until something is due.
milliseconds LeaseProcessor::patience() const {
    const auto now = Clock::now();
    milliseconds least = longest_wait;
    bool waiting = false;
    for (const Item& item : items_) {
        if (item.state == LeaseState::ended) return 0ms;
        if (item.state == LeaseState::called) waiting = true;
        if (!is_held(item.state) || stands(item.partition())) continue;
        waiting = true;
        if (item.state != LeaseState::pausing || item.not_before <= now) continue;
        least = std::min(least, std::chrono::ceil<milliseconds>(item.not_before - now));
    }
    return waiting ? least : 0ms;
}

void LeaseProcessor::collect() {
    for (EffectOutcome& outcome : parts_.effects.wait(patience())) {
        const auto found = std::ranges::find(items_, outcome.number, &Item::number);
        if (found == items_.end()) continue;
        if (!change(*found, step_of(outcome.kind, policy_.action))) continue;
        found->outcome = std::move(outcome);
        switch (found->outcome.kind) {
            case EffectOutcome::Kind::done: close(*found, MessageEnd::applied); break;
            case EffectOutcome::Kind::failed: failed(*found); break;
            case EffectOutcome::Kind::again: again(*found); break;
        }
    }
}

void LeaseProcessor::failed(Item& item) {
    const Record& record = item.message->record;
    log_warning("message.rejected", {{"topic", context_.topic},
                                     {"partition", record.partition.raw()},
                                     {"offset", record.offset.raw()},
                                     {"digest", hex(item.message->digest)},
                                     {"error", item.outcome.reason}});
    item.message->rejection =
        Rejection{Rejection::Kind::sink, item.outcome.reason, "", item.attempts};
    // A topic that stops releases the key, so that it is tried again when the topic is.
    if (item.state == LeaseState::ended) close(item, MessageEnd::dead_lettered);
}

void LeaseProcessor::again(Item& item) {
    const auto& asked = item.outcome.not_before;
    std::optional<milliseconds> delay =
        next_try(parts_.retries, item.tries, asked, leases_.lease());
    if (delay) {
        // Never sooner than the other side asked for.
        *delay = spread(*delay, 1.0, 1.25, roll());
        ++item.tries;
        item.not_before = Clock::now() + *delay;
    } else {
        const auto pause = waited_.next(item.partition(), item.offset());
        const milliseconds wish = std::min(asked.value_or(0ms), longest_wish);
        // The pause is jittered by a quarter either way.
        wait(item, waited_.tried(item.partition(), item.offset()),
             std::max(*pause, wish + wish / 3), item.outcome.reason);
        item.not_before = Clock::now() + never;
    }
    tell(LeaseEvent::tried_again);
    log_warning("effect.again", {{"topic", context_.topic},
                                 {"partition", item.partition().raw()},
                                 {"offset", item.offset().raw()},
                                 {"digest", hex(item.message->digest)},
                                 {"attempts", item.attempts},
                                 {"retry_ms", delay.value_or(0ms).count()},
                                 {"error", item.outcome.reason}});
}

}  // namespace onceward
