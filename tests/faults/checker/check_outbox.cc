// I10: what was committed with the outbox is in its topic at least once, under one id, in the order
// of its key; and nothing else is there.

#include <algorithm>
#include <map>
#include <set>

#include "tests/faults/checker/finding.h"
#include "tests/faults/checker/joined.h"

namespace onceward::checker {
namespace {

// The messages of the topics that are published, by their ids.
std::map<std::uint64_t, const Message*> published_messages(const Joined& joined) {
    std::map<std::uint64_t, const Message*> messages;
    for (const auto& [name, view] : joined.partitions()) {
        if (!joined.topic(name.topic).published) continue;
        for (const Message& message : view.messages) messages[message.produced->id] = &message;
    }
    return messages;
}

class Copies {
  public:
    explicit Copies(const Joined& joined) : joined_(joined), messages_(published_messages(joined)) {
        for (const PublishedRecord& record : joined.evidence().published) {
            records_.push_back(&record);
        }
        std::ranges::sort(records_, {}, [](const PublishedRecord* record) {
            return std::pair(record->partition, record->offset);
        });
    }

    void check(Violations& violations) {
        for (const PublishedRecord* record : records_) check(*record);
        Finding missing("I10", "a message was applied and never published");
        for (const auto& [id, message] : messages_) {
            if (joined_.times_applied(*message) == 0 || seen_.contains(id)) continue;
            missing.at([&, &found = *message] { return joined_.describe(found); });
        }
        missing.into(violations);
        foreign_.into(violations);
        two_ids_.into(violations);
        shared_.into(violations);
        disorder_.into(violations);
    }

  private:
    void check(const PublishedRecord& record) {
        const auto where = [&] {
            return "record " + std::to_string(record.partition) + "@" +
                   std::to_string(record.offset) + ", message " + std::to_string(record.message);
        };
        const auto found = messages_.find(record.message);
        if (found == messages_.end() || !committed(*found->second)) {
            foreign_.at(where);
            return;
        }
        const Message& message = *found->second;
        const auto [of_key, is_new] = ids_.try_emplace(message.key, record.id);
        if (of_key->second != record.id) two_ids_.at(where);
        if (is_new && !keys_.try_emplace(record.id, message.key).second) shared_.at(where);
        if (seen_.insert(record.message).second) check_order(record, message);
    }

    // What a fail-over has lost may be there. Then another message of its key was applied instead.
    bool committed(const Message& message) const {
        if (joined_.times_applied(message) > 0) return true;
        return joined_.evidence().settings.failed_over && message.key >= 0 &&
               joined_.keys()[static_cast<std::size_t>(message.key)].applied > 0;
    }

    // First copies alone: a later one may be sent after what followed. The messages of one
    // partition have an order.
    void check_order(const PublishedRecord& record, const Message& message) {
        if (!record.key || joined_.evidence().settings.failed_over) return;
        std::int64_t& before =
            order_.try_emplace({*record.key, message.place.in()}, -1).first->second;
        if (message.place.offset < before) {
            disorder_.at([&] {
                return joined_.describe(message) + " after offset " + std::to_string(before);
            });
        }
        before = std::max(before, message.place.offset);
    }

    const Joined& joined_;
    std::map<std::uint64_t, const Message*> messages_;
    std::vector<const PublishedRecord*> records_;  // in the order of their partitions
    std::map<int, std::string> ids_;               // of each key
    std::map<std::string, int> keys_;              // of each id
    std::set<std::uint64_t> seen_;
    std::map<std::pair<std::string, PartitionName>, std::int64_t> order_;
    Finding foreign_{"I10", "a record was published whose message was not applied"};
    Finding two_ids_{"I10", "a key was published under two ids"};
    Finding shared_{"I10", "two keys were published under one id"};
    Finding disorder_{"I10", "the first copies of a key's records are not in their order"};
};

}  // namespace

Violations check_outbox(const Joined& joined) {
    Violations violations;
    const Evidence& evidence = joined.evidence();
    if (std::ranges::none_of(evidence.topics, &TopicSettings::published)) return violations;
    Copies(joined).check(violations);
    Finding waiting("I10", "rows of the outbox wait, and all has been passed");
    if (evidence.outbox_rows > 0) {
        waiting.at([&] { return std::to_string(evidence.outbox_rows) + " rows"; });
    }
    waiting.into(violations);
    return violations;
}

}  // namespace onceward::checker
