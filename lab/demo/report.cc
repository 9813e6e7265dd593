#include "lab/demo/report.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace onceward::demo {
namespace {

constexpr std::chrono::seconds line_interval{2};

// 200,000 instead of 200000.
std::string grouped(std::int64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3 && text[at - 4] != '-';) {
        at -= 3;
        text.insert(at, ",");
    }
    return text;
}

}  // namespace

void Progress::note(const std::string& text) {
    clear();
    const std::chrono::duration<double> passed = Clock::now() - begin_;
    std::fprintf(stderr, "%6.1f s  %s\n", passed.count(), text.c_str());
}

void Progress::show(const Standing& standing) {
    if (!terminal_ && Clock::now() < next_line_) return;
    next_line_ = Clock::now() + line_interval;
    const std::chrono::duration<double> passed = Clock::now() - begin_;
    std::fprintf(stderr,
                 "%s%6.1f s  %s of %s produced, %s applied, %s duplicates, lag %s, %d killed, "
                 "%d frozen%s",
                 terminal_ ? "\r\x1b[K" : "", passed.count(), grouped(standing.produced).c_str(),
                 grouped(messages_).c_str(), grouped(standing.applied).c_str(),
                 grouped(standing.duplicates).c_str(), grouped(standing.lag).c_str(),
                 standing.killed, standing.frozen, terminal_ ? "" : "\n");
}

void Progress::clear() {
    if (terminal_) std::fputs("\r\x1b[K", stderr);
}

std::string to_table(const QueryResult& result) {
    const Verdict& verdict = result.verdict;
    const std::array<std::pair<const char*, std::int64_t>, 9> lines{{
        {"produced", verdict.produced},
        {"unique keys", verdict.unique_keys},
        {"applied", verdict.applied},
        {"duplicates", verdict.duplicates},
        {"lost", verdict.lost},
        {"applied twice", verdict.twice},
        {"workers killed", result.killed},
        {"workers frozen", result.frozen},
        {"messages/s", std::llround(result.messages_per_second)},
    }};
    std::string table;
    for (const auto& [name, number] : lines) {
        std::array<char, 64> line{};
        std::snprintf(line.data(), line.size(), "  %-16s %12s\n", name, grouped(number).c_str());
        table += line.data();
    }
    return table;
}

std::string to_json(const QueryResult& result) {
    const Verdict& verdict = result.verdict;
    const nlohmann::ordered_json json{
        {"produced", verdict.produced},
        {"unique_keys", verdict.unique_keys},
        {"applied", verdict.applied},
        {"duplicates", verdict.duplicates},
        {"lost", verdict.lost},
        {"twice", verdict.twice},
        {"workers_killed", result.killed},
        {"workers_frozen", result.frozen},
        {"messages_per_second", std::llround(result.messages_per_second)},
    };
    return json.dump() + "\n";
}

}  // namespace onceward::demo
