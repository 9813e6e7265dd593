#include "cli/page/page_memory.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Kind = PageEvent::Kind;

constexpr std::chrono::system_clock::time_point start{std::chrono::hours(1000)};

// A process of one worker with these partitions of a topic.
ProcessStatus process(const std::vector<int>& partitions, std::int64_t applied = 0) {
    Worker::Status status;
    status.counts.topics["orders"].applied = applied;
    for (const int partition : partitions) {
        PartitionStatus& own = status.lag.emplace_back();
        own.partition = {"orders", Partition{partition}};
        own.lag = 5;
    }
    ProcessStatus made;
    made.workers.push_back({0, status, ""});
    return made;
}

std::vector<std::pair<Kind, int>> told(const PageMemory& memory) {
    std::vector<std::pair<Kind, int>> events;
    for (const PageEvent& event : memory.events()) {
        events.emplace_back(event.kind, event.partition.partition.raw());
    }
    return events;
}

TEST(PageMemory, PartitionsThatComeAndGoAreEvents) {
    PageMemory memory;
    memory.look(start, process({0, 1}));
    memory.look(start + 1s, process({0, 1}));
    memory.look(start + 2s, process({1, 2}));
    EXPECT_EQ(
        told(memory),
        (std::vector<std::pair<Kind, int>>{
            {Kind::assigned, 0}, {Kind::assigned, 1}, {Kind::revoked, 0}, {Kind::assigned, 2}}));
    EXPECT_EQ(memory.events().back().at, start + 2s);
}

TEST(PageMemory, AHaltIsAnEventWithItsReasonAndSoIsItsEnd) {
    PageMemory memory;
    ProcessStatus halted = process({0});
    halted.workers[0].status->halted.push_back(
        {{"orders", Partition{0}}, {.reason = HaltReason::failed, .text = "no such table"}});
    memory.look(start, process({0}));
    memory.look(start + 1s, halted);
    memory.look(start + 2s, halted);
    EXPECT_EQ(memory.events().back().text, "failed: no such table");
    memory.look(start + 3s, process({0}));
    EXPECT_EQ(told(memory), (std::vector<std::pair<Kind, int>>{
                                {Kind::assigned, 0}, {Kind::halted, 0}, {Kind::moving, 0}}));
}

TEST(PageMemory, AWorkerThatEndsIsAnEventOnce) {
    PageMemory memory;
    ProcessStatus ended = process({});
    ended.workers[0].status.reset();
    ended.workers[0].ended = "fatal";
    memory.look(start, process({}));
    memory.look(start + 1s, ended);
    memory.look(start + 2s, ended);
    ASSERT_EQ(memory.events().size(), 1U);
    EXPECT_EQ(memory.events()[0].kind, Kind::worker_ended);
    EXPECT_EQ(memory.events()[0].text, "fatal");
}

TEST(PageMemory, ASampleIsTakenEveryTenSecondsForAnHour) {
    PageMemory memory;
    for (int second = 0; second < 2 * 3600; ++second) {
        memory.look(start + std::chrono::seconds(second), process({0, 1}, second));
    }
    ASSERT_EQ(memory.samples().size(), PageMemory::most_samples);
    EXPECT_EQ(memory.samples()[1].at - memory.samples()[0].at, 10s);
    EXPECT_EQ(memory.samples().back().totals.applied, 2 * 3600 - 10);
    EXPECT_EQ(memory.samples().back().lag, 10);
}

TEST(PageMemory, EventsAreBounded) {
    PageMemory memory;
    for (int turn = 0; turn < 400; ++turn) {
        memory.look(start + std::chrono::seconds(turn), process({turn}));
    }
    EXPECT_EQ(memory.events().size(), PageMemory::most_events);
    EXPECT_TRUE(memory.forgot_events());
    EXPECT_EQ(memory.events().back().partition.partition.raw(), 399);
}

}  // namespace
}  // namespace onceward
