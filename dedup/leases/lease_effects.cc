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
// Beyond that the other side's wish is taken for a mistake.
constexpr milliseconds longest_wish = 3600s;

}  // namespace

std::optional<milliseconds> next_try(const EffectRetries& retries, int tried,
                                     const std::optional<milliseconds>& asked, milliseconds lease) {
    if (tried >= retries.attempts) return std::nullopt;
    // What is longer than the lease is not waited for here.
    const Backoff backoff{.first = retries.backoff, .longest = std::max(retries.backoff, lease)};
    milliseconds delay = backoff.whole(tried + 1);
    if (asked) delay = std::max(delay, *asked);
    if (delay >= lease) return std::nullopt;
    return delay;
}

// The heartbeat; with it goes what has to be written down before another try. DANGER: a try whose
// number is not committed is not made, and neither is one of a key that is mine no longer.
void LeaseProcessor::extend(Connection& connection) {
    const auto asked = Clock::now();
    std::vector<Item*> held;
    std::vector<LeaseTries> tries;
    bool due = false;
    for (Item& item : items_) {
        if (item.stage != Stage::mine && item.stage != Stage::under_way) continue;
        const bool again = item.stage == Stage::mine && item.unmade == 0 &&
                           item.not_before <= asked && !stands(item.partition());
        const bool too_short = item.stage == Stage::mine && item.not_before <= asked &&
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
            item.unmade += tries[i].tries;
            item.attempts += tries[i].tries;
            continue;
        }
        lost(item);
        if (item.stage == Stage::under_way) parts_.effects.cancel(item.number);
        item.stage = Stage::open;
        item.unmade = 0;
    }
}

void LeaseProcessor::begin_effects() {
    const auto now = Clock::now();
    auto under_way = static_cast<std::size_t>(
        std::ranges::count(items_, Stage::under_way, [](const Item& item) { return item.stage; }));
    for (Item& item : items_) {
        if (under_way >= parts_.effects.concurrency()) return;
        if (item.stage != Stage::mine || item.unmade == 0 || item.not_before > now) continue;
        // The whole of the try has to be within the lease: extend() is to see to it first.
        if (stands(item.partition()) || now + parts_.effects.longest() > item.held_until) continue;
        item.stage = Stage::under_way;
        item.unmade = 0;
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
        if (item.stage == Stage::ended && !item.stored) return 0ms;
        if (item.stage == Stage::under_way) waiting = true;
        if (item.stage != Stage::mine || stands(item.partition())) continue;
        waiting = true;
        const auto left = std::chrono::ceil<milliseconds>(item.not_before - now);
        if (item.not_before > now) least = std::min(least, left);
    }
    return waiting ? least : 0ms;
}

void LeaseProcessor::collect() {
    for (EffectOutcome& outcome : parts_.effects.wait(patience())) {
        const auto found = std::ranges::find(items_, outcome.number, &Item::number);
        if (found == items_.end() || found->stage != Stage::under_way) continue;
        found->outcome = std::move(outcome);
        switch (found->outcome.kind) {
            case EffectOutcome::Kind::done: end(*found, MessageEnd::applied); break;
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
    if (policy_.action == RejectPolicy::Action::dead_letter) {
        end(item, MessageEnd::dead_lettered);
        return;
    }
    // Its key is let go, so that it is tried again when the topic is.
    item.stage = Stage::mine;
    item.not_before = Clock::now() + never;
    item.halts = true;
}

void LeaseProcessor::again(Item& item) {
    const auto& asked = item.outcome.not_before;
    std::optional<milliseconds> delay =
        next_try(parts_.retries, item.tries, asked, leases_.lease());
    item.stage = Stage::mine;
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
