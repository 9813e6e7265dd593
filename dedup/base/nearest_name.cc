#include "dedup/base/nearest_name.h"

#include <algorithm>
#include <numeric>

#include "dedup/base/text.h"

namespace onceward {

// One row of the table at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
    const std::string wanted = lower_case(std::string(name));
    const std::string* nearest = nullptr;
    std::size_t best = std::max<std::size_t>(name.size() / 3, 2) + 1;
    for (const std::string& candidate : known) {
        const std::size_t away = edit_distance(wanted, lower_case(candidate));
        if (away < best) {
            best = away;
            nearest = &candidate;
        }
    }
    if (nearest != nullptr) return *nearest;
    constexpr std::size_t shortest_beginning = 3;
    if (wanted.size() < shortest_beginning) return "";
    const auto begins = [&](const std::string& candidate) {
        return lower_case(candidate).starts_with(wanted);
    };
    const bool one = std::ranges::count_if(known, begins) == 1;
    return one ? *std::ranges::find_if(known, begins) : "";
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
    const std::string near = nearest_name(name, known);
    return near.empty() ? "" : "; did you mean `" + near + "`?";
}

}  // namespace onceward
