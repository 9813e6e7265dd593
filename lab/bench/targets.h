#pragma once
// What is to be reached: each row's floors and goals, in one place. Pure; plain values.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace onceward::bench {

enum class Better : std::uint8_t { higher, lower };
enum class MeasuredBy : std::uint8_t {
    bench,  // this program
    peers,  // needs another program to compare with
};

// A row may ask for several things; each is a target of its own.
struct Target {
    std::string_view row;
    std::string_view name;
    std::string_view against;
    Better better = Better::higher;
    double floor = 0;
    double goal = 0;
    MeasuredBy by = MeasuredBy::bench;
};

// In the order in which they are shown.
std::span<const Target> targets();
std::vector<const Target*> targets_of(std::string_view row);
// The rows that this program measures, each once; more of them together with peers.
std::vector<std::string_view> measured_rows(bool with_peers = false);

bool meets(const Target& target, double limit, double value);
inline bool reached(const Target& target, double value) {
    return meets(target, target.floor, value);
}
inline bool goal_reached(const Target& target, double value) {
    return meets(target, target.goal, value);
}

}  // namespace onceward::bench
