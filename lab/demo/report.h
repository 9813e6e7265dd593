#pragma once
// What the demo shows to the user: a live line on a terminal and plain lines elsewhere, on standard
// error; the result, as a table or as a JSON object, on standard output. Used by one thread; does
// not throw.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "lab/demo/verdict.h"

namespace onceward::demo {

struct Standing {
    std::int64_t produced = 0;
    std::int64_t applied = 0;
    std::int64_t duplicates = 0;
    std::int64_t lag = 0;
    int killed = 0;
    int frozen = 0;
};

class Progress {
  public:
    using Clock = std::chrono::steady_clock;

    Progress(std::int64_t messages, bool terminal) : messages_(messages), terminal_(terminal) {}
    // Something happened: a line of its own that stays.
    void note(const std::string& text);
    // The current state: replaces the live line, or writes a plain one every second or two.
    void show(const Standing& standing);
    // Takes the live line away.
    void clear();

  private:
    std::int64_t messages_;
    bool terminal_;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point next_line_ = begin_;
};

struct QueryResult {
    Verdict verdict;
    int killed = 0;
    int frozen = 0;
    double messages_per_second = 0;
};

std::string to_table(const QueryResult& result);
std::string to_json(const QueryResult& result);

}  // namespace onceward::demo
