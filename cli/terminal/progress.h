#pragma once
// How far a long command is, on standard error: on a terminal one line that is written again and
// again, elsewhere a line from time to time. One at a time in a process; used by one thread; throws
// nothing but std::bad_alloc.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onceward {

struct ProgressView {
    std::string_view unit;  // of what is counted, such as `messages`
    std::int64_t done = 0;  // in this run
    std::optional<double> begun_at{};  // the share that was done before this run, 0 to 1
    std::optional<double> share{};     // the share that is done now; nullopt: it is unknown
    std::chrono::milliseconds elapsed{0};
};

// Such as `12345 messages, 42 %, 3210/s, 1 min 20 s left`. Pure.
std::string progress_text(const ProgressView& view);

class Progress {
  public:
    using Clock = std::chrono::steady_clock;

    // `what`: the command, for the lines that are kept.
    Progress(std::string what, std::string unit);
    // Takes the line away again.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // Shows it if it is time to. `share`: of the whole, 0 to 1. To estimate the remaining time,
    // what the first call says is taken for the work of earlier runs.
    void at(std::int64_t done, std::optional<double> share);
    // The same, if the number of the whole is known; 0: it is not known.
    void of(std::int64_t done, std::int64_t all);

  private:
    std::string what_;
    std::string unit_;
    std::optional<double> begun_at_;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point next_;
};

// Takes the line away, so that another one can be written; the next at() shows it again.
void hide_progress();

}  // namespace onceward
