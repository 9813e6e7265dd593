#include "cli/proposal/epoch_guess.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr std::int64_t year_1990 = 631'152'000;  // in seconds since 1970
constexpr std::int64_t year_2100 = 4'102'444'800;

struct EpochUnit {
    Conversion::Kind kind;
    std::int64_t a_second;
};
constexpr std::array<EpochUnit, 4> epoch_units{{{Conversion::Kind::epoch_seconds, 1},
                                                {Conversion::Kind::epoch_millis, 1'000},
                                                {Conversion::Kind::epoch_micros, 1'000'000},
                                                {Conversion::Kind::epoch_nanos, 1'000'000'000}}};

// `paidAt`, `paid_at` and `paid-at` are two words.
std::vector<std::string> words_of(const std::string& name) {
    std::vector<std::string> words;
    bool in_word = false;
    bool after_lower = false;
    for (const char letter : name) {
        const auto byte = static_cast<unsigned char>(letter);
        const bool begins = !in_word || (std::isupper(byte) != 0 && after_lower);
        in_word = std::isalnum(byte) != 0;
        after_lower = std::islower(byte) != 0;
        if (!in_word) continue;
        if (begins) words.emplace_back();
        words.back() += letter;
    }
    for (std::string& word : words) word = lower_case(word);
    return words;
}

}  // namespace

bool names_a_time(const std::string& field) {
    static constexpr std::array<std::string_view, 12> last = {
        "at", "on",       "time", "date",  "datetime", "timestamp",
        "ts", "timemillis", "ms",   "epoch", "millis",   "when"};
    const std::vector<std::string> words = words_of(field);
    if (words.empty()) return false;
    const bool ends = std::ranges::find(last, words.back()) != last.end();
    return ends || std::ranges::any_of(words, [](const std::string& word) {
               return word.find("timestamp") != std::string::npos || word == "time";
           });
}

std::optional<Conversion::Kind> epoch_unit(FieldEvidence::Range range) {
    for (const EpochUnit& unit : epoch_units) {
        if (range.least >= year_1990 * unit.a_second &&
            range.most / unit.a_second < year_2100) {
            return unit.kind;
        }
    }
    return std::nullopt;
}

}  // namespace onceward
