#include "tests/faults/crash_check.h"

#include <algorithm>
#include <map>
#include <utility>

namespace onceward::faults {
namespace {

using Place = std::pair<int, std::int64_t>;  // partition, offset

std::string text(const Place& place) {
    return std::to_string(place.first) + "@" + std::to_string(place.second);
}

class Judge {
  public:
    Judge(const Evidence& evidence, std::size_t limit) : evidence_(evidence), limit_(limit) {
        for (const SentMessage& message : evidence.sent)
            sent_[{message.partition, message.offset}] = message.key;
    }

    std::vector<std::string> verdict() {
        check_effects();
        check_claims();
        check_order();
        check_fences();
        return std::move(found_);
    }

  private:
    void add(const std::string& violation) {
        if (found_.size() < limit_) found_.push_back(violation);
    }

    void check_effects() {
        std::map<std::string, int> effects;
        for (const SentMessage& message : evidence_.sent) effects[message.key];
        for (const AppliedRow& row : evidence_.rows) {
            const auto sent = sent_.find({row.partition, row.offset});
            if (sent == sent_.end() || sent->second != row.key)
                add("I1: the row of key " + row.key + " says " + text({row.partition, row.offset}) +
                    ", where another message or none was sent");
            ++effects[row.key];
        }
        for (const auto& [key, count] : effects) {
            if (count == 0) add("I1: key " + key + " is missing");
            if (count > 1)
                add("I1: key " + key + " was applied " + std::to_string(count) + " times");
        }
    }

    void check_claims() {
        std::map<Place, std::string> claims;
        for (const ClaimRow& claim : evidence_.claims) {
            const Place place{claim.partition, claim.offset};
            if (!claims.emplace(place, claim.transaction).second)
                add("I6: two claims of " + text(place));
        }
        for (const AppliedRow& row : evidence_.rows) {
            const Place place{row.partition, row.offset};
            const auto claim = claims.find(place);
            if (claim == claims.end()) {
                add("I6: an effect without a claim at " + text(place));
                continue;
            }
            if (claim->second != row.transaction)
                add("I6: claim and effect of " + text(place) + " are from different transactions");
            claims.erase(claim);
        }
        for (const auto& [place, transaction] : claims)
            add("I6: a claim without an effect at " + text(place));
    }

    void check_order() {
        std::vector<const AppliedRow*> rows;
        for (const AppliedRow& row : evidence_.rows) rows.push_back(&row);
        std::sort(rows.begin(), rows.end(), [](const AppliedRow* left, const AppliedRow* right) {
            return left->landed < right->landed;
        });
        std::map<int, std::int64_t> last;
        for (const AppliedRow* row : rows) {
            const auto [entry, first] = last.try_emplace(row->partition, row->offset);
            if (!first && row->offset <= entry->second)
                add("I15: " + text({row->partition, row->offset}) + " landed after " +
                    text({row->partition, entry->second}));
            entry->second = row->offset;
        }
    }

    void check_fences() {
        std::map<int, std::int64_t> ends;
        for (const SentMessage& message : evidence_.sent)
            ends[message.partition] = std::max(ends[message.partition], message.offset + 1);
        for (const FenceRow& fence : evidence_.fences) {
            const std::string name = "partition " + std::to_string(fence.partition);
            if (fence.next_offset < ends[fence.partition])
                add("I3: the fence of " + name + " stands at " + std::to_string(fence.next_offset) +
                    ", the log ends at " + std::to_string(ends[fence.partition]));
            if (fence.committed.value_or(0) > fence.next_offset)
                add("I2: Kafka's offset of " + name + " passed the fence");
            const std::int64_t passed = std::count_if(
                evidence_.sent.begin(), evidence_.sent.end(), [&](const SentMessage& message) {
                    return message.partition == fence.partition &&
                           message.offset >= fence.first_offset;
                });
            if (fence.applied + fence.duplicates + fence.others != passed)
                add("I16: the totals of " + name + " do not add up to " + std::to_string(passed));
            const std::int64_t rows =
                std::count_if(evidence_.rows.begin(), evidence_.rows.end(),
                              [&](const AppliedRow& row) {
                                  return row.partition == fence.partition;
                              });
            if (fence.applied != rows)
                add("I16: " + name + " counts " + std::to_string(fence.applied) +
                    " applied and has " + std::to_string(rows) + " rows");
            ends.erase(fence.partition);
        }
        for (const auto& [partition, end] : ends)
            add("I3: partition " + std::to_string(partition) + " has no fence");
    }

    const Evidence& evidence_;
    std::size_t limit_;
    std::map<Place, std::string> sent_;
    std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> violations(const Evidence& evidence, std::size_t limit) {
    return Judge(evidence, limit).verdict();
}

}  // namespace onceward::faults
