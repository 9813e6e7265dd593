#include "tests/faults/campaign/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/faults/campaign/draws.h"
#include "tests/faults/campaign/message_source.h"

namespace onceward::campaign {
namespace {

constexpr std::uint64_t many = 300;

std::vector<Drawn> messages_of(const Plan& plan) {
    MessageSource source(plan,
                         [&](std::size_t topic) { return plan.workload.topics[topic].partitions; });
    std::vector<Drawn> messages;
    while (const std::optional<Portion> portion = source.next())
        messages.insert(messages.end(), portion->messages.begin(), portion->messages.end());
    return messages;
}

// Values that were seen once: they must be the same on every machine and with every library.
TEST(CampaignPlan, DrawsAreTheSameEverywhere) {
    Draws draws(42);
    EXPECT_EQ(draws.below(1000), 13930160852258120406ULL % 1000);
    EXPECT_EQ(draws.between(5, 14), 5 + static_cast<std::int64_t>(11788048577503494824ULL % 10));
}

TEST(CampaignPlan, ADrawInOnePartMovesNoOther) {
    const Draws root(7);
    Draws first = root.branch("workload");
    Draws second = root.branch("faults");
    EXPECT_NE(first.below(1'000'000'000), second.below(1'000'000'000));
    Draws again = root.branch("faults");
    again.below(10);
    EXPECT_EQ(root.branch("workload").below(1000), root.branch("workload").below(1000));
}

TEST(CampaignPlan, TheSameSeedGivesTheSamePlan) {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        EXPECT_EQ(to_text(draw_plan(seed)), to_text(draw_plan(seed)));
    EXPECT_NE(to_text(draw_plan(1)), to_text(draw_plan(2)));
}

TEST(CampaignPlan, EveryKindOfFaultIsDrawnAndTheyComeInOrder) {
    std::set<FaultKind> seen;
    for (std::uint64_t seed = 0; seed < many; ++seed) {
        const Plan plan = draw_plan(seed);
        for (std::size_t i = 0; i < plan.faults.size(); ++i) {
            seen.insert(plan.faults[i].kind);
            EXPECT_LT(plan.faults[i].at, plan.fault_phase);
            EXPECT_LE(plan.faults[i == 0 ? 0 : i - 1].at, plan.faults[i].at);
        }
    }
    EXPECT_EQ(seen.size(), fault_names.size());
}

TEST(CampaignPlan, AtLeastHalfOfTheKillsComeFromOutside) {
    std::map<FaultKind, int> kills;
    for (std::uint64_t seed = 0; seed < many; ++seed) {
        for (const FaultPlan& fault : draw_plan(seed).faults) ++kills[fault.kind];
    }
    // One at a step begins with one from outside, which makes room for the other program.
    EXPECT_GT(kills[FaultKind::kill_outside], kills[FaultKind::kill_at_step]);
}

TEST(CampaignPlan, FleetsAndTopicsStayWithinTheirBounds) {
    for (std::uint64_t seed = 0; seed < many; ++seed) {
        const Plan plan = draw_plan(seed);
        EXPECT_GE(plan.fleet.processes, 1);
        EXPECT_LE(plan.fleet.processes, 6);
        EXPECT_GE(plan.workload.topics.size(), 1U);
        EXPECT_LE(plan.workload.topics.size(), 3U);
        for (const TopicPlan& topic : plan.workload.topics) {
            EXPECT_GE(topic.partitions, 1);
            EXPECT_LE(topic.partitions, 6);
            const bool fields = topic.format != PayloadFormat::raw;
            EXPECT_TRUE(fields || plan.workload.key != KeyPlace::field) << seed;
        }
    }
}

TEST(CampaignPlan, SeedsWithAnOutboxKillTheRelayBetweenKafkasAnswerAndTheRowsEnd) {
    int outboxes = 0;
    for (std::uint64_t seed = 0; seed < many; ++seed) {
        const Plan plan = draw_plan(seed);
        const auto kills = std::ranges::count_if(plan.faults, [](const FaultPlan& fault) {
            return fault.kind == FaultKind::kill_at_step &&
                   fault.step == Step::before_outbox_delete;
        });
        // What stops others than one topic is left out there.
        if (plan.trial == Trial::trouble) continue;
        EXPECT_EQ(kills >= 2, plan.outside == Outside::outbox) << seed;
        outboxes += plan.outside == Outside::outbox ? 1 : 0;
    }
    EXPECT_GT(outboxes, static_cast<int>(many) / 8);
    EXPECT_LT(outboxes, static_cast<int>(many) / 2);
    // The test campaign_real runs this one.
    EXPECT_EQ(draw_plan(4).outside, Outside::outbox);
}

TEST(CampaignPlan, SomeTablesBecomeALogAndSomeLogsMerge) {
    int converted = 0;
    int merging = 0;
    for (std::uint64_t seed = 0; seed < many; ++seed) {
        const Plan plan = draw_plan(seed);
        const auto conversions =
            std::ranges::count(plan.faults, FaultKind::operator_convert, &FaultPlan::kind);
        EXPECT_EQ(conversions, plan.ledger.converts ? 1 : 0) << seed;
        EXPECT_FALSE(plan.ledger.converts && plan.ledger.log) << seed;
        converted += plan.ledger.converts ? 1 : 0;
        merging += plan.ledger.log && plan.ledger.rotate_claims == 1000 &&
                           plan.ledger.rotate_after == milliseconds(16'000)
                       ? 1
                       : 0;
        EXPECT_GE(plan.ledger.retention, plan.ledger.rotate_after) << seed;
    }
    EXPECT_GT(converted, static_cast<int>(many) / 10);
    EXPECT_GT(merging, static_cast<int>(many) / 10);
}

TEST(CampaignPlan, SeedsWithAWebhookMakeFewerCalls) {
    int webhooks = 0;
    for (std::uint64_t seed = 0; seed < many; ++seed) {
        const Plan plan = draw_plan(seed);
        if (plan.outside != Outside::webhook) continue;
        ++webhooks;
        EXPECT_LE(plan.workload.messages, 3500) << seed;
        EXPECT_GE(plan.workload.portion, 1) << seed;
    }
    EXPECT_GT(webhooks, static_cast<int>(many) / 25);
    EXPECT_LT(webhooks, static_cast<int>(many) / 4);
    // The test campaign_real runs this one.
    EXPECT_EQ(draw_plan(5).outside, Outside::webhook);
}

TEST(CampaignPlan, SeedsWithRoutesHaveTwoDoorsAndKillsInRequestsTransactions) {
    int routes = 0;
    for (std::uint64_t seed = 0; seed < many; ++seed) {
        const Plan plan = draw_plan(seed);
        EXPECT_EQ(plan.requests.clients > 0, plan.outside == Outside::http) << seed;
        if (plan.outside != Outside::http) continue;
        ++routes;
        EXPECT_GE(plan.fleet.processes, 2) << seed;
        EXPECT_LE(plan.fleet.processes, 3) << seed;
        const auto kills = std::ranges::count_if(plan.faults, [](const FaultPlan& fault) {
            return fault.kind == FaultKind::kill_at_step &&
                   std::ranges::find(request_steps, fault.step) != request_steps.end();
        });
        EXPECT_GE(kills, 2) << seed;
    }
    EXPECT_GT(routes, static_cast<int>(many) / 10);
    EXPECT_LT(routes, static_cast<int>(many) / 4);
    // The test campaign_real runs this one.
    EXPECT_EQ(draw_plan(3).outside, Outside::http);
}

TEST(CampaignPlan, EveryTrialIsDrawnAndMostSeedsHaveNone) {
    std::map<Trial, int> trials;
    for (std::uint64_t seed = 0; seed < many; ++seed) ++trials[draw_plan(seed).trial];
    for (int trial = 0; trial <= static_cast<int>(Trial::reach); ++trial)
        EXPECT_GT(trials[static_cast<Trial>(trial)], 0) << trial;
    EXPECT_GT(trials[Trial::nothing], static_cast<int>(many) / 3);
}

TEST(CampaignPlan, BesideOneTopicInTroubleNothingStopsTheOthers) {
    for (std::uint64_t seed = 0; seed < many; ++seed) {
        const Plan plan = draw_plan(seed);
        if (plan.trial != Trial::trouble) continue;
        EXPECT_GT(plan.workload.topics.size(), 1U) << seed;
        EXPECT_FALSE(plan.standby) << seed;
        for (const FaultPlan& fault : plan.faults) {
            EXPECT_NE(fault.kind, FaultKind::postgres_stop) << seed;
            EXPECT_NE(fault.kind, FaultKind::broker_freeze) << seed;
        }
    }
}

TEST(CampaignPlan, ALedgerOfOnePartitionIsALogOfOneTopic) {
    int added = 0;
    for (std::uint64_t seed = 0; seed < many; ++seed) {
        const Plan plan = draw_plan(seed);
        if (!plan.ledger.per_partition) continue;
        EXPECT_TRUE(plan.ledger.log) << seed;
        EXPECT_FALSE(plan.workload.one_operation) << seed;
        for (const FaultPlan& fault : plan.faults) {
            EXPECT_NE(fault.kind, FaultKind::add_partitions) << seed;
            added += fault.kind == FaultKind::added_beside_reach ? 1 : 0;
        }
    }
    EXPECT_GT(added, 2);
}

TEST(CampaignMessages, AKeyOfALedgerOfOnePartitionStaysInItsOwnWhenSomeAreAdded) {
    Plan plan = draw_plan(1);
    plan.workload.topics.resize(1);
    plan.workload.topics[0].partitions = 3;
    plan.workload.repeated = 500;
    plan.workload.messages = 4000;
    plan.ledger.per_partition = true;
    int partitions = 3;
    MessageSource source(plan, [&](std::size_t) { return partitions; });
    std::map<std::string, std::set<int>> places;
    std::set<int> used;
    for (int drawn = 0; const std::optional<Portion> portion = source.next();) {
        for (const Drawn& message : portion->messages) {
            if (!message.key.empty()) places[message.key].insert(message.message.partition);
            used.insert(message.message.partition);
        }
        drawn += static_cast<int>(portion->messages.size());
        if (drawn > 2000) partitions = 5;
    }
    for (const auto& [key, found] : places) EXPECT_EQ(found.size(), 1U) << key;
    EXPECT_EQ(used.size(), 5U);
}

TEST(CampaignMessages, TheSamePlanGivesTheSameMessages) {
    const Plan plan = draw_plan(5);
    const std::vector<Drawn> first = messages_of(plan);
    const std::vector<Drawn> second = messages_of(plan);
    ASSERT_EQ(first.size(), static_cast<std::size_t>(plan.workload.messages));
    ASSERT_EQ(second.size(), first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(first[i].id, i + 1);
        EXPECT_EQ(first[i].key, second[i].key);
        EXPECT_EQ(first[i].message.payload, second[i].message.payload);
        EXPECT_EQ(first[i].message.partition, second[i].message.partition);
    }
}

TEST(CampaignMessages, EachNatureIsDrawnAboutAsOftenAsPlanned) {
    Plan plan = draw_plan(1);
    plan.workload.messages = 20'000;
    plan.workload.undecodable = 100;
    plan.workload.refused = 50;
    plan.workload.keyless = 30;
    plan.workload.tombstones = 20;
    std::map<Nature, int> seen;
    for (const Drawn& drawn : messages_of(plan)) {
        ++seen[drawn.nature];
        EXPECT_EQ(drawn.nature == Nature::without_key, drawn.key.empty());
        EXPECT_EQ(drawn.nature == Nature::tombstone, !drawn.message.payload);
    }
    EXPECT_NEAR(seen[Nature::undecodable], 2000, 300);
    EXPECT_NEAR(seen[Nature::refused], 1000, 200);
    EXPECT_NEAR(seen[Nature::without_key], 600, 150);
    EXPECT_NEAR(seen[Nature::tombstone], 400, 120);
}

// No payload is read there, and no table refuses a row.
TEST(CampaignMessages, OfAWebhookCanAllBeCalledThatHaveAKeyAndAPayload) {
    Plan plan = draw_plan(1);
    plan.outside = Outside::webhook;
    plan.workload.undecodable = 300;
    plan.workload.refused = 300;
    for (const Drawn& drawn : messages_of(plan)) {
        EXPECT_NE(drawn.nature, Nature::undecodable);
        EXPECT_NE(drawn.nature, Nature::refused);
    }
}

TEST(CampaignMessages, MirroredKeysComeInTheOppositeOrder) {
    Plan plan = draw_plan(1);
    plan.workload.repeats = Repeats::mirrored;
    plan.workload.repeated = 500;
    plan.workload.keyless = 0;
    plan.workload.portion = 10;
    plan.workload.messages = 10;
    const std::vector<Drawn> messages = messages_of(plan);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(messages[9 - i].key, messages[i].key);
}

TEST(CampaignMessages, PayloadsAreWhatTheirFormatsSay) {
    const PayloadFields fields{300, "key-1", "account-2", "5"};
    EXPECT_EQ(json_payload(fields),
              R"({"id": 300, "key": "key-1", "account": "account-2", "amount": 5})");
    EXPECT_EQ(protobuf_payload(fields), std::string("\x08\xac\x02\x12\x05key-1\x1a\x09"
                                                    "account-2\x20\x05"));
}

}  // namespace
}  // namespace onceward::campaign
