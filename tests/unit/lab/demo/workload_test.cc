#include "lab/demo/workload.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace onceward::demo {
namespace {

std::vector<DemoMessage> take_all(Workload& workload) {
    std::vector<DemoMessage> messages;
    for (std::int64_t taken = 0; taken < workload.messages(); ++taken)
        messages.push_back(workload.next());
    return messages;
}

TEST(Workload, AQuarterCarriesAKeyProducedBefore) {
    for (const std::int64_t count : {1, 4, 103, 20'000}) {
        Workload workload(7, count);
        std::set<Digest> seen;
        std::int64_t repeats = 0;
        for (const DemoMessage& message : take_all(workload))
            repeats += seen.insert(message.key).second ? 0 : 1;
        EXPECT_EQ(repeats, count / 4) << count;
        EXPECT_EQ(static_cast<std::int64_t>(workload.produced().size()), count - count / 4);
    }
}

TEST(Workload, TheListHasEveryMessageUnderItsKey) {
    Workload workload(7, 5'000);
    std::map<std::pair<Topic, Digest>, std::int32_t> counts;
    for (const DemoMessage& message : take_all(workload)) ++counts[{message.topic, message.key}];
    ASSERT_EQ(counts.size(), workload.produced().size());
    for (const ProducedKey& key : workload.produced())
        EXPECT_EQ((counts[{key.topic, key.key}]), key.messages);
}

TEST(Workload, RepeatsAreTheSameMessageAndMeetAcrossPartitions) {
    Workload workload(7, 5'000);
    std::map<Digest, DemoMessage> first;
    int elsewhere = 0;
    for (const DemoMessage& message : take_all(workload)) {
        const auto [entry, fresh] = first.emplace(message.key, message);
        if (fresh) continue;
        EXPECT_EQ(entry->second.topic, message.topic);
        EXPECT_EQ(entry->second.json, message.json);
        if (entry->second.partition != message.partition) ++elsewhere;
    }
    EXPECT_GT(elsewhere, 500);
}

TEST(Workload, TheSeedDecidesEverything) {
    Workload one(7, 1'000);
    Workload same(7, 1'000);
    Workload other(8, 1'000);
    bool differs = false;
    for (int taken = 0; taken < 1'000; ++taken) {
        const DemoMessage message = one.next();
        const DemoMessage again = same.next();
        EXPECT_EQ(message.key, again.key);
        EXPECT_EQ(message.partition, again.partition);
        EXPECT_EQ(message.json, again.json);
        differs = differs || other.next().key != message.key;
    }
    EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace onceward::demo
