#include "cli/composition/memory_budget.h"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "tests/support/unique.h"

namespace onceward {
namespace {

class MemoryBudget : public testing::Test {
  protected:
    ~MemoryBudget() override { std::filesystem::remove_all(root_); }
    void put(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text << "\n";
    }
    const std::filesystem::path root_ =
        std::filesystem::path(testing::TempDir()) / support::unique_name("root");
};

TEST_F(MemoryBudget, TheLowestLimitOfTheGroupAndThoseAboveCounts) {
    put("proc/self/cgroup", "0::/pods/mine");
    put("sys/fs/cgroup/pods/mine/memory.max", "max");
    put("sys/fs/cgroup/pods/memory.max", "50000000");
    EXPECT_EQ(memory_limit(root_), 50'000'000);
    put("sys/fs/cgroup/pods/mine/memory.max", "40000000");
    EXPECT_EQ(memory_limit(root_), 40'000'000);
    EXPECT_EQ(memory_budget(std::nullopt, root_), 32'000'000);
}

TEST_F(MemoryBudget, AContainersOwnLimitIsAtTheTop) {
    put("proc/self/cgroup", "0::/");
    put("sys/fs/cgroup/memory.max", "60000000");
    EXPECT_EQ(memory_limit(root_), 60'000'000);
}

TEST_F(MemoryBudget, VersionOneIsKnownAndItsNoLimitIsNone) {
    put("proc/self/cgroup", "4:cpu,cpuacct:/x\n7:memory:/docker/of-the-host");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "70000000");
    EXPECT_EQ(memory_limit(root_), 70'000'000);
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    EXPECT_EQ(memory_limit(root_), memory_limit(root_ / "nowhere"));
}

TEST_F(MemoryBudget, WithoutAGroupItIsTheMachines) {
    EXPECT_GT(memory_limit(root_).value(), 100'000'000);
}

TEST_F(MemoryBudget, WhatIsConfiguredGoesFirstAndZeroIsNone) {
    EXPECT_EQ(memory_budget(123, root_), 123);
    EXPECT_EQ(memory_budget(0, root_), std::nullopt);
}

// A small container would halt partitions that are not at fault if claims took what batches need.
TEST_F(MemoryBudget, ClaimsTakeAThirdOfItAtMostUnlessTheConfigurationSaysMore) {
    constexpr std::int64_t mebibyte = 1 << 20;
    EXPECT_EQ(claims_memory(std::nullopt, std::nullopt), 256 * mebibyte);
    EXPECT_EQ(claims_memory(std::nullopt, 8192 * mebibyte), 256 * mebibyte);
    EXPECT_EQ(claims_memory(std::nullopt, 300 * mebibyte), 100 * mebibyte);
    EXPECT_EQ(claims_memory(200 * mebibyte, 300 * mebibyte), 200 * mebibyte);
    EXPECT_EQ(claims_memory(0, std::nullopt), 0);
}

// An idle process wakes seldom, and one that is near its budget looks before it is exceeded.
TEST_F(MemoryBudget, TheLessIsLeftTheSoonerItIsCountedAgain) {
    constexpr std::int64_t mebibyte = 1 << 20;
    EXPECT_EQ(next_count(10'000 * mebibyte), std::chrono::milliseconds(200));
    EXPECT_EQ(next_count(400 * mebibyte), std::chrono::milliseconds(100));
    EXPECT_EQ(next_count(1 * mebibyte), std::chrono::milliseconds(50));
    EXPECT_EQ(next_count(-mebibyte), std::chrono::milliseconds(50));
}

TEST_F(MemoryBudget, TheProcessKnowsWhatItHas) {
    const ResidentMemory memory;
    const std::int64_t before = memory.bytes().value();
    EXPECT_GT(before, 1'000'000);
    const std::vector<char> more(std::size_t{64} << 20, 'x');
    EXPECT_GT(memory.bytes().value(), before + (std::int64_t{32} << 20)) << more.size();
    EXPECT_EQ(ResidentMemory(root_).bytes(), std::nullopt);
}

}  // namespace
}  // namespace onceward
