#include "cli/terminal/progress.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "cli/terminal/output.h"
#include "cli/terminal/style.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto on_terminal_every = 250ms;
constexpr auto elsewhere_every = 30s;
// An estimate before that is a guess.
constexpr auto estimate_after = 1s;

bool line_shown = false;

std::string left_text(std::chrono::seconds left) {
    const auto hours = std::chrono::floor<std::chrono::hours>(left);
    const auto minutes = std::chrono::floor<std::chrono::minutes>(left - hours);
    if (hours > 0h) {
        return std::to_string(hours.count()) + " h " + std::to_string(minutes.count()) + " min";
    }
    const std::string seconds = std::to_string((left - minutes).count()) + " s";
    return minutes > 0min ? std::to_string(minutes.count()) + " min " + seconds : seconds;
}

}  // namespace

std::string progress_text(const ProgressView& view) {
    std::string text = std::to_string(view.done) + " " + std::string(view.unit);
    const double seconds = std::chrono::duration<double>(view.elapsed).count();
    const bool shared = view.share.has_value();
    const double share = std::clamp(view.share.value_or(0), 0.0, 1.0);
    if (shared) text += ", " + std::to_string(static_cast<int>(share * 100)) + " %";
    if (view.elapsed < estimate_after) return text;
    const double rate = static_cast<double>(view.done) / seconds;
    text += ", " + std::to_string(static_cast<std::int64_t>(rate)) + "/s";
    const double gained = share - view.begun_at.value_or(0);
    if (!shared || gained <= 0) return text;
    const double left = seconds * (1 - share) / gained;
    return text + ", " + left_text(std::chrono::seconds(static_cast<std::int64_t>(left))) + " left";
}

Progress::Progress(std::string what, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      next_(is_terminal(std::cerr) ? begin_ : begin_ + elsewhere_every) {}

Progress::~Progress() { hide_progress(); }

void Progress::at(std::int64_t done, std::optional<double> share) {
    if (!begun_at_) begun_at_ = share;
    const auto now = Clock::now();
    if (now < next_) return;
    const bool terminal = is_terminal(std::cerr);
    next_ = now + (terminal ? std::chrono::milliseconds(on_terminal_every) : elsewhere_every);
    const std::string text = progress_text(
        {.unit = unit_,
         .done = done,
         .begun_at = begun_at_,
         .share = share,
         .elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - begin_)});
    if (!terminal) return note(what_ + ": " + text);
    rewrite_line(text.substr(0, static_cast<std::size_t>(terminal_columns(std::cerr, 80)) - 1));
    line_shown = true;
}

void Progress::of(std::int64_t done, std::int64_t all) {
    at(done, all > 0 ? std::optional(static_cast<double>(done) / static_cast<double>(all))
                     : std::nullopt);
}

void hide_progress() {
    if (std::exchange(line_shown, false)) rewrite_line("");
}

}  // namespace onceward
