#include "tests/faults/campaign/core/workload.h"

#include <algorithm>
#include <chrono>

namespace onceward::campaign::core {
namespace {

using checker::Nature;

// The workload's draws are not the plan's own: a further option of the plan leaves them alone.
constexpr std::uint64_t workload_salt = 0x9E37'79B9'7F4A'7C15U;

// What the sink's table refuses: no number, out of range, NOT NULL, CHECK, a trigger, a deferred
// trigger.
constexpr const char* poison[] = {"bad", "99999999999", "", "-1", "666", "777"};

constexpr std::chrono::milliseconds year_2099{4'070'908'800'000};

constexpr Rejection::Kind rejections[] = {
    Rejection::Kind::undecodable, Rejection::Kind::missing_key, Rejection::Kind::invalid_key};

std::int64_t now_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

std::uint64_t message_id(int partition, std::int64_t offset) {
    return static_cast<std::uint64_t>(partition) * 1'000'000'000U +
           static_cast<std::uint64_t>(offset) + 1U;
}

Workload::Workload(const Plan& plan)
    : plan_(plan), draws_(plan.seed ^ workload_salt), log_(plan.partitions) {}

std::string Workload::new_key() {
    const std::string number = std::to_string(distinct_keys_++);
    std::string key =
        draws_.percent(plan_.nul_percent) ? std::string("account\0", 8) + number : "key-" + number;
    wave_keys_.push_back(key);
    return key;
}

Workload::Kind Workload::draw_message(std::string key) {
    Kind made;
    made.entry.key = std::move(key);
    made.entry.payload = std::to_string(draws_.below(600));
    const auto share = [&](int per_10000) {
        return draws_.below(10'000) < static_cast<std::uint64_t>(per_10000);
    };
    if (share(plan_.rejected_per_10000)) {
        made.nature = Nature::undecodable;
        made.entry.rejection =
            Rejection{rejections[draws_.below(std::size(rejections))], "drawn", "", 1};
    } else if (share(plan_.skipped_per_10000)) {
        made.nature = Nature::without_key;
        made.entry.skipped = true;
    } else if (share(plan_.poison_per_10000)) {
        made.nature = Nature::refused;
        // With a key that was used before, another fingerprint would make a conflict of it.
        if (plan_.fingerprints) made.entry.key = "refused-" + std::to_string(distinct_keys_++);
        made.entry.payload = poison[draws_.below(std::size(poison))];
    }
    if (plan_.fingerprints) made.entry.fingerprint = digest_of_bytes(made.entry.payload);
    const std::chrono::milliseconds today(now_us() / 1000);
    made.entry.timestamp = draws_.percent(plan_.future_percent) ? year_2099 : today;
    return made;
}

void Workload::send(int partition, std::string key) {
    if (draws_.percent(plan_.gap_percent)) log_.leave_gap(partition, draws_.between(1, 4));
    Kind made = draw_message(std::move(key));
    checker::ProducedMessage message;
    message.nature = made.nature;
    message.key_kind = "field";
    message.key = made.entry.key;
    if (plan_.fingerprints) message.fingerprint = made.entry.payload;
    message.acknowledged_us = now_us();
    const Offset offset = log_.append(partition, std::move(made.entry));
    message.place = {0, partition, offset.raw()};
    message.id = message_id(partition, offset.raw());
    sent_.push_back(std::move(message));
}

// The same keys in two partitions, in opposite orders: two workers have them in their hands at
// once.
void Workload::send_mirrored() {
    const int first = static_cast<int>(draws_.below(static_cast<std::uint64_t>(plan_.partitions)));
    const int second = (first + 1) % plan_.partitions;
    std::vector<std::string> keys;
    for (int i = draws_.between(5, 40); i > 0; --i) keys.push_back(new_key());
    for (const std::string& key : keys) send(first, key);
    std::ranges::reverse(keys);
    for (const std::string& key : keys) send(second, key);
}

bool Workload::produce() {
    const int wanted = waves_ == 0 ? plan_.messages : waves_ == 1 ? plan_.second_wave : 0;
    if (wanted == 0) return false;
    ++waves_;
    wave_keys_.clear();
    wave_partitions_.clear();
    const auto before = sent_.size();
    while (sent_.size() - before < static_cast<std::size_t>(wanted)) {
        const auto done = sent_.size() - before;
        // Runs of about 45 messages in one draw; hence the share is of messages.
        if (plan_.mirrored_percent > 0 &&
            draws_.below(4500) < static_cast<std::uint64_t>(plan_.mirrored_percent)) {
            send_mirrored();
            continue;
        }
        const int partition =
            static_cast<int>(draws_.below(static_cast<std::uint64_t>(plan_.partitions)));
        if (done > 0 && draws_.percent(plan_.duplicate_percent)) {
            // Recent keys often, the first ones seldom.
            const auto back = draws_.skewed(wave_keys_.size());
            const std::size_t which = wave_keys_.size() - 1 - back;
            const bool stays = plan_.ledger == LedgerKind::log_of_partitions;
            send(stays ? wave_partitions_[which] : partition, wave_keys_[which]);
        } else {
            wave_partitions_.push_back(partition);
            send(partition, new_key());
        }
    }
    for (int partition = 0; partition < plan_.partitions; ++partition) {
        if (draws_.percent(plan_.gap_percent)) log_.leave_gap(partition, draws_.between(1, 5));
    }
    return true;
}

}  // namespace onceward::campaign::core
