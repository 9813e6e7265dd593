#include "tests/faults/campaign/message_source.h"

#include <algorithm>

namespace onceward::campaign {
namespace {

constexpr std::uint64_t hot_keys = 12;
constexpr std::uint64_t recent_keys = 120;

}  // namespace

MessageSource::MessageSource(const Plan& plan, std::function<int(std::size_t)> partitions)
    : plan_(plan),
      partitions_(std::move(partitions)),
      draws_(Draws(plan.seed).branch("messages")),
      keys_before_(plan.workload.topics.size()) {}

std::optional<Portion> MessageSource::next() {
    const WorkloadPlan& workload = plan_.workload;
    const auto left = static_cast<std::uint64_t>(workload.messages) - drawn_;
    if (left == 0) return std::nullopt;
    const auto size = std::min(left, static_cast<std::uint64_t>(workload.portion));
    Portion portion;
    portion.in_transaction = draws_.percent(workload.transactions);
    portion.aborted = portion.in_transaction && draws_.percent(workload.aborted);
    for (std::uint64_t i = 0; i < size; ++i)
        portion.messages.push_back(draw(portion.messages, size));
    return portion;
}

Drawn MessageSource::draw(const std::vector<Drawn>& before, std::size_t size) {
    Drawn drawn;
    drawn.id = ++drawn_;
    drawn.nature = draw_nature();
    // A call reads no payload, and no table refuses it.
    const bool in_payload = drawn.nature == Nature::undecodable || drawn.nature == Nature::refused;
    if (plan_.outside == Outside::webhook && in_payload) drawn.nature = Nature::good;
    drawn.topic = draws_.below(plan_.workload.topics.size());
    drawn.message.partition =
        static_cast<int>(draws_.below(static_cast<std::uint64_t>(partitions_(drawn.topic))));
    std::string key = draw_key(before, size);
    if (plan_.ledger.per_partition)
        drawn.message.partition = draw_partition(drawn.topic, key);
    if (drawn.nature != Nature::without_key) drawn.key = std::move(key);
    write(drawn);
    return drawn;
}

// The key's own, as of a producer that hashes it. One that is known does not move when partitions
// are added: what becomes of those that move is not promised.
int MessageSource::draw_partition(std::size_t topic, const std::string& key) {
    const int first = plan_.workload.topics[topic].partitions;
    const int now = partitions_(topic);
    std::uint64_t& before = keys_before_[topic];
    if (now > first && before == 0) before = keys_ == 0 ? 1 : keys_ - 1;
    const std::uint64_t number = std::stoull(key.substr(key.find('-') + 1));
    const bool fresh = before != 0 && number > before;
    return static_cast<int>(number % static_cast<std::uint64_t>(fresh ? now : first));
}

Nature MessageSource::draw_nature() {
    const WorkloadPlan& workload = plan_.workload;
    const auto number = static_cast<int>(draws_.below(1000));
    int limit = workload.undecodable;
    if (number < limit) return Nature::undecodable;
    limit += workload.refused;
    if (number < limit) return Nature::refused;
    limit += workload.keyless;
    if (number < limit) return Nature::without_key;
    limit += workload.tombstones;
    return number < limit ? Nature::tombstone : Nature::good;
}

std::string MessageSource::draw_key(const std::vector<Drawn>& before, std::size_t size) {
    const WorkloadPlan& workload = plan_.workload;
    const auto named = [&](std::uint64_t number) {
        return workload.key_prefix + std::to_string(number);
    };
    // Mirrored: the second half of a portion has the keys of the first one, from its end on.
    const std::size_t index = before.size();
    if (workload.repeats == Repeats::mirrored && index >= (size + 1) / 2 &&
        draws_.permille(std::min(1000, 2 * workload.repeated))) {
        const std::string& twin = before[size - 1 - index].key;
        if (!twin.empty()) return twin;
    }
    if (keys_ == 0 || workload.repeats == Repeats::mirrored || !draws_.permille(workload.repeated))
        return named(++keys_);
    switch (workload.repeats) {
        case Repeats::hot: return named(1 + draws_.below(std::min(keys_, hot_keys)));
        case Repeats::recent: return named(keys_ - draws_.below(std::min(keys_, recent_keys)));
        case Repeats::any:
        case Repeats::mirrored: break;
    }
    return named(1 + draws_.below(keys_));
}

void MessageSource::write(Drawn& drawn) {
    const TopicPlan& topic = plan_.workload.topics[drawn.topic];
    const KeyPlace place = plan_.workload.key;
    support::ProducedMessage& message = drawn.message;
    message.headers.emplace_back(id_header, std::to_string(drawn.id));
    PayloadFields fields;
    fields.id = drawn.id;
    fields.account = "account-" + std::to_string(draws_.below(50));
    fields.amount = std::to_string(draws_.below(10'000));
    const bool broken_value = draws_.percent(50);
    const bool has_key = drawn.nature != Nature::without_key;
    switch (place) {
        case KeyPlace::header:
            if (has_key) message.headers.emplace_back(key_header, drawn.key);
            break;
        case KeyPlace::record_key:
            if (has_key) message.key = drawn.key;
            break;
        case KeyPlace::field:
            if (has_key) fields.key = drawn.key;
            break;
    }
    if (place != KeyPlace::record_key && draws_.percent(50)) message.key = fields.account;
    // The table's CHECK speaks.
    if (drawn.nature == Nature::refused) fields.amount = "-1";
    const bool undecodable = drawn.nature == Nature::undecodable;
    switch (topic.format) {
        case PayloadFormat::json:
            if (undecodable && broken_value) fields.amount = "\"much\"";
            message.payload = json_payload(fields);
            if (undecodable && !broken_value) message.payload->pop_back();
            break;
        case PayloadFormat::protobuf:
            message.payload = protobuf_payload(fields);
            // A field whose length is beyond the end.
            if (undecodable) message.payload->append("\x12\x7f");
            break;
        case PayloadFormat::raw:
            if (undecodable) fields.amount = "much";
            message.headers.emplace_back("account", fields.account);
            message.headers.emplace_back("amount", fields.amount);
            message.payload = std::string(raw_prefix) + std::to_string(drawn.id);
            break;
    }
    if (drawn.nature == Nature::tombstone) message.payload.reset();
}

}  // namespace onceward::campaign
