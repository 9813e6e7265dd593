#include "tests/faults/crash_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace onceward::faults {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two partitions; key b comes again in the other one.
Evidence good() {
    Evidence evidence;
    evidence.sent = {{"a", 0, 0}, {"b", 0, 1}, {"b", 1, 0}, {"c", 1, 1}};
    evidence.rows = {{"a", 0, 0, "700", 1}, {"b", 0, 1, "700", 2}, {"c", 1, 1, "701", 3}};
    evidence.claims = {{0, 0, "700"}, {0, 1, "700"}, {1, 1, "701"}};
    evidence.fences = {{0, 0, 2, 2, 0, 0, 2}, {1, 0, 2, 1, 1, 0, std::nullopt}};
    return evidence;
}

TEST(CrashCheck, FindsNothingInAGoodRun) { EXPECT_THAT(violations(good()), IsEmpty()); }

TEST(CrashCheck, FindsEachHandMadeViolation) {
    struct Case {
        std::string expected;
        std::function<void(Evidence&)> spoil;
    };
    const std::vector<Case> cases{
        {"key c is missing", [](Evidence& e) { e.rows.pop_back(), e.claims.pop_back(); }},
        {"key b was applied 2 times", [](Evidence& e) { e.rows.push_back({"b", 1, 0, "702", 9}); }},
        {"another message or none", [](Evidence& e) { e.rows[2].key = "a"; }},
        {"another message or none", [](Evidence& e) { e.rows[2].offset = 7; }},
        {"an effect without a claim", [](Evidence& e) { e.claims.pop_back(); }},
        {"a claim without an effect", [](Evidence& e) { e.claims.push_back({1, 0, "701"}); }},
        {"two claims", [](Evidence& e) { e.claims.push_back(e.claims[0]); }},
        {"different transactions", [](Evidence& e) { e.claims[0].transaction = "699"; }},
        {"I15", [](Evidence& e) { std::swap(e.rows[0].landed, e.rows[1].landed); }},
        {"I3: the fence", [](Evidence& e) { e.fences[0].next_offset = 1; }},
        {"I3: partition 1 has no fence", [](Evidence& e) { e.fences.pop_back(); }},
        {"I2", [](Evidence& e) { e.fences[0].committed = 3; }},
        {"do not add up", [](Evidence& e) { e.fences[1].duplicates = 0; }},
        {"counts 1 applied", [](Evidence& e) {
             e.fences[0].applied = 1;
             e.fences[0].duplicates = 1;
         }}};
    for (const Case& entry : cases) {
        Evidence evidence = good();
        entry.spoil(evidence);
        EXPECT_THAT(violations(evidence), ::testing::Contains(HasSubstr(entry.expected)));
    }
}

TEST(CrashCheck, StopsAtItsLimit) {
    Evidence evidence = good();
    evidence.rows.clear();
    EXPECT_EQ(violations(evidence, 3).size(), 3U);
}

}  // namespace
}  // namespace onceward::faults
