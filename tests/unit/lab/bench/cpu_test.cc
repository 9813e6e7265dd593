#include "lab/bench/cpu.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "lab/bench/machine.h"

namespace onceward::bench {
namespace {

TEST(Cpu, TicksAreThoseOfTheProcessAndOfItsEndedChildren) {
    EXPECT_EQ(ticks_in("42 (postgres) S 1 2 3 4 5 6 7 8 9 10 100 20 3000 400 20 0 1"), 3'520);
    EXPECT_EQ(ticks_in("42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 1 2 3 4 20"), 10);
    EXPECT_EQ(ticks_in("42 (cut) S 1 2 3"), std::nullopt);
    EXPECT_EQ(ticks_in(""), std::nullopt);
}

TEST(Cpu, AnUnknownProcessIsNoNumber) {
    const CpuTimes times = CpuMeter{.postgres = getpid()}.read();
    EXPECT_GE(times.postgres, 0);
    EXPECT_TRUE(std::isnan(times.broker));
}

TEST(Cpu, AChildThatEndsIsNeverForgotten) {
    const CpuMeter meter{.postgres = getpid()};
    double most = 0;
    for (int number = 0; number < 5; ++number) {
        const pid_t child = fork();
        if (child == 0) {
            while (own_cpu_seconds() < 0.1) continue;
            _exit(0);
        }
        std::atomic<bool> reaped = false;
        const std::jthread reaper([&] {
            waitpid(child, nullptr, 0);
            reaped = true;
        });
        while (!reaped) {
            const double seconds = meter.read().postgres;
            EXPECT_GT(seconds, most - 0.05);
            most = std::max(most, seconds);
        }
    }
}

TEST(Machine, ValuesStandBehindTheirName) {
    const std::string text = "model name\t: Some CPU @ 2 GHz\nmodel\t\t: 85\nempty:\n";
    EXPECT_EQ(value_in(text, "model name"), "Some CPU @ 2 GHz");
    EXPECT_EQ(value_in(text, "model"), "85");
    EXPECT_EQ(value_in(text, "empty"), "");
    EXPECT_EQ(value_in(text, "absent"), "");
}

TEST(Machine, AFolderIsOnTheFileSystemThatIsMountedNearestAboveIt) {
    const std::string mounts =
        "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
        "30 27 7:0 / /files rw - xfs /dev/loop0 rw,noquota\n"
        "31 30 0:9 / /files/inner rw - tmpfs tmpfs rw\n"
        "a line of something else\n";
    EXPECT_EQ(file_system_in(mounts, "/var/run"), "ext4 (rw,discard)");
    EXPECT_EQ(file_system_in(mounts, "/files"), "xfs (rw,noquota)");
    EXPECT_EQ(file_system_in(mounts, "/files/inner/run"), "tmpfs (rw)");
    EXPECT_EQ(file_system_in(mounts, "/filesystem"), "ext4 (rw,discard)");
    EXPECT_EQ(file_system_in("", "/var/run"), "");
}

TEST(MachineTime, IsWhatWasWantedAndWhatTheHostTookOfIt) {
    const MachineTime begin = machine_time_in("cpu  10 20 30 1000 50 1 2 7 5 0\ncpu0 1 2 3\n");
    EXPECT_EQ(begin.wanted, 70);
    EXPECT_EQ(begin.stolen, 7);
    const MachineTime end = machine_time_in("cpu  90 20 30 5000 50 1 2 27 5 0\n");
    EXPECT_EQ(stolen_between(begin, end),
              "20.0 % of the processors' time that was wanted in this run");
    EXPECT_EQ(machine_time_in("intr 1 2 3 4 5 6 7 8 9").wanted, 0);
}

}  // namespace
}  // namespace onceward::bench
