#include "tests/unit/checker/run_model.h"

#include <algorithm>

namespace onceward::checker {

RunModel::RunModel(std::vector<TopicSettings> topics) {
    evidence.topics = std::move(topics);
    evidence.settings.audited = true;
    evidence.generations.push_back({.ledger = 1, .generation = 1});
}

PartitionLog& RunModel::log(PartitionName name) {
    const auto found = std::ranges::find(evidence.log, name, &PartitionLog::name);
    if (found != evidence.log.end()) return *found;
    return evidence.log.emplace_back(PartitionLog{.name = name});
}

std::size_t RunModel::produce(PartitionName name, Nature nature, const std::string& key,
                              const std::string& target) {
    PartitionLog& partition = log(name);
    clock_us_ += 10;
    evidence.produced.push_back({.id = evidence.produced.size() + 1,
                                 .place = {name.topic, name.partition, partition.end},
                                 .nature = nature,
                                 .key_kind = "header:Idempotency-Key",
                                 .key = key,
                                 .target = target,
                                 .acknowledged_us = clock_us_});
    partition.records.push_back({partition.end++, evidence.produced.back().id});
    return evidence.produced.size() - 1;
}

void RunModel::abort(PartitionName name) {
    produce(name, Nature::good, "aborted");
    evidence.produced.back().aborted = true;
    PartitionLog& partition = log(name);
    partition.records.pop_back();
    ++partition.end;
}

Fence& RunModel::fence(PartitionName name) {
    const auto found = std::ranges::find(evidence.fences, name, &Fence::name);
    if (found != evidence.fences.end()) return *found;
    Fence made{.name = name, .owner = "maker " + std::to_string(++owners_), .ledger = 1};
    evidence.moves.push_back({.sequence = static_cast<std::int64_t>(evidence.moves.size()) + 1,
                              .name = name,
                              .transaction = ++transactions_,
                              .session = 9,
                              .new_owner = made.owner,
                              .at_us = clock_us_});
    evidence.fences.push_back(made);
    take(name);
    return *std::ranges::find(evidence.fences, name, &Fence::name);
}

FenceMove& RunModel::move(Fence& fence) {
    clock_us_ += 10;
    evidence.moves.push_back({.sequence = static_cast<std::int64_t>(evidence.moves.size()) + 1,
                              .name = fence.name,
                              .transaction = ++transactions_,
                              .session = sessions_[fence.name],
                              .old_owner = fence.owner,
                              .new_owner = fence.owner,
                              .old_epoch = fence.epoch,
                              .new_epoch = fence.epoch,
                              .old_next = fence.next_offset,
                              .new_next = fence.next_offset,
                              .at_us = clock_us_});
    return evidence.moves.back();
}

void RunModel::take(PartitionName name) {
    Fence& taken = fence(name);
    sessions_[name] = 100 + ++owners_;
    FenceMove& row = move(taken);
    taken.owner = row.new_owner = "owner " + std::to_string(owners_);
    taken.epoch = ++row.new_epoch;
}

void RunModel::pass(PartitionName name, int most) {
    Fence& passed = fence(name);
    const PartitionLog& partition = log(name);
    FenceMove& row = move(passed);
    auto record =
        std::ranges::lower_bound(partition.records, passed.next_offset, {}, &LogRecord::offset);
    for (; record != partition.records.end() && most > 0; ++record, --most) {
        settle(evidence.produced[record->id - 1], row.transaction, row.counted);
    }
    row.new_next = record == partition.records.end() ? partition.end : record->offset;
    passed.next_offset = row.new_next;
    Totals& totals = passed.totals;
    totals.applied += row.counted.applied;
    totals.duplicates += row.counted.duplicates;
    totals.conflicts += row.counted.conflicts;
    totals.dead_lettered += row.counted.dead_lettered;
    totals.skipped += row.counted.skipped;
}

void RunModel::pass_all(int most) {
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t i = 0; i < evidence.log.size(); ++i) {
            const PartitionName name = evidence.log[i].name;
            if (fence(name).next_offset == evidence.log[i].end) continue;
            pass(name, most);
            moved = true;
        }
    }
}

void RunModel::settle(const ProducedMessage& message, Transaction transaction, Totals& counted) {
    const TopicSettings& topic = evidence.topics[static_cast<std::size_t>(message.place.topic)];
    Policy policy = Policy::derive;  // neither rejected nor skipped
    if (message.nature == Nature::tombstone) policy = topic.tombstones;
    if (message.nature == Nature::without_key) policy = topic.without_key;
    const std::pair key{topic.operation.empty() ? topic.name : topic.operation, message.key};
    const bool keyed = message.nature != Nature::without_key;
    const auto known = keyed ? applied_.find(key) : applied_.end();
    if (policy == Policy::skip) {
        ++counted.skipped;
    } else if (message.nature == Nature::undecodable || policy == Policy::reject) {
        ++counted.dead_lettered;
        reject(message, transaction);
    } else if (known != applied_.end() && topic.fingerprints &&
               known->second != message.fingerprint) {
        ++counted.conflicts;
        reject(message, transaction);
    } else if (known != applied_.end()) {
        ++counted.duplicates;
    } else if (message.nature == Nature::refused) {
        ++counted.dead_lettered;
        reject(message, transaction);
    } else {
        ++counted.applied;
        if (keyed) applied_[key] = message.fingerprint;
        apply(message, transaction);
    }
}

void RunModel::apply(const ProducedMessage& message, Transaction transaction) {
    evidence.claims.push_back({.place = message.place,
                               .transaction = transaction,
                               .ledger = 1,
                               .generation = 1,
                               .digest = std::to_string(message.id)});
    const TopicSettings& topic = evidence.topics[static_cast<std::size_t>(message.place.topic)];
    Effect row{.id = message.id,
               .place = message.place,
               .transaction = transaction,
               .landed = ++landed_,
               .key = message.key};
    if (topic.upsert) {
        row.target = message.target;
        std::erase_if(evidence.effects, [&](const Effect& effect) {
            return effect.place.topic == row.place.topic && effect.target == row.target;
        });
    }
    if (message.nature != Nature::tombstone) evidence.effects.push_back(row);
}

void RunModel::reject(const ProducedMessage& message, Transaction transaction) {
    const Content content{.key = "record key",
                          .payload = "payload " + std::to_string(message.id),
                          .headers = {{"empty", std::nullopt}, {"Idempotency-Key", message.key}}};
    evidence.contents[message.place] = content;
    evidence.dead_letters.push_back({.place = message.place,
                                     .transaction = transaction,
                                     .identity = "topic " + std::to_string(message.place.topic),
                                     .content = content,
                                     .has_timestamp = true,
                                     .error_class = "data",
                                     .sqlstate = message.nature == Nature::refused ? "23514" : "",
                                     .reason = "broken",
                                     .attempts = 1});
}

RunModel small_run() {
    RunModel run({{.name = "payments", .operation = "pay", .ledger = "pay", .fingerprints = true},
                  {.name = "refunds", .operation = "pay", .ledger = "pay"},
                  {.name = "accounts", .upsert = true, .tombstones = Policy::remove},
                  {.name = "notes", .tombstones = Policy::skip, .without_key = Policy::derive}});
    for (int i = 0; i < 60; ++i) {
        const PartitionName payments{0, i % 3};
        const std::string key = "key " + std::to_string(i % 41);
        const std::size_t made = run.produce(payments, Nature::good, key);
        run.evidence.produced[made].fingerprint = i == 45 ? "other" : "same";
        if (i % 7 == 0) run.produce(payments, Nature::undecodable, key);
        if (i % 9 == 0) run.produce(payments, Nature::refused, "bad " + std::to_string(i));
        if (i % 11 == 0) run.produce(payments, Nature::without_key, "");
        if (i % 13 == 0) run.abort(payments);
        if (i % 3 == 0) {
            run.evidence.produced[run.produce({1, 0}, Nature::good, key)].fingerprint = "same";
        }
        const std::string account = "account " + std::to_string(i % 5);
        run.produce({2, i % 2}, i % 8 == 7 ? Nature::tombstone : Nature::good,
                    "change " + std::to_string(i % 50), account);
        run.produce({3, 0},
                    i % 4 == 0   ? Nature::without_key
                    : i % 4 == 1 ? Nature::tombstone
                                 : Nature::good,
                    i % 4 == 0 ? "" : "note " + std::to_string(i));
        if (i == 30) run.pass_all(4);
        if (i == 30) run.take({0, 1});
    }
    run.pass_all(4);
    for (const Fence& fence : run.evidence.fences) {
        run.evidence.committed.push_back({fence.name, fence.next_offset});
    }
    return run;
}

bool holds(const Verdict& verdict, const std::string& invariant, const std::string& part) {
    return std::ranges::any_of(verdict.violations, [&](const Violation& violation) {
        const bool told = violation.text.find(part) != std::string::npos ||
                          std::ranges::any_of(violation.where, [&](const std::string& where) {
                              return where.find(part) != std::string::npos;
                          });
        return violation.invariant == invariant && told;
    });
}

}  // namespace onceward::checker
