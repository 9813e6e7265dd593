#include "dedup/base/nearest_name.h"

#include <algorithm>

#include "dedup/base/edit_distance.h"
#include "dedup/base/text.h"

namespace onceward {
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
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
    return nearest == nullptr ? std::string() : "; did you mean `" + *nearest + "`?";
}

}  // namespace onceward
