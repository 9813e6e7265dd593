#include "dedup/base/nearest_name.h"

#include <algorithm>

#include "dedup/base/edit_distance.h"

namespace onceward {
namespace {

std::string in_lower_case(std::string_view name) {
    std::string text(name);
    for (char& letter : text) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return text;
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
    const std::string wanted = in_lower_case(name);
    const std::string* nearest = nullptr;
    std::size_t best = std::max<std::size_t>(name.size() / 3, 2) + 1;
    for (const std::string& candidate : known) {
        const std::size_t away = edit_distance(wanted, in_lower_case(candidate));
        if (away < best) {
            best = away;
            nearest = &candidate;
        }
    }
    return nearest == nullptr ? std::string() : "; did you mean `" + *nearest + "`?";
}

}  // namespace onceward
