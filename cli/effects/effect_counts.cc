#include "cli/effects/effect_counts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dedup/base/expects.h"

namespace onceward {
namespace {

constexpr std::size_t most_examples = 10;

// The most telling ones first: more than one row, then messages without a row.
nlohmann::json examples_of(std::vector<KeyEffects> keys) {
    std::erase_if(keys, [](const KeyEffects& key) { return key.rows == 1; });
    const std::size_t shown = std::min(keys.size(), most_examples);
    std::ranges::partial_sort(keys, keys.begin() + static_cast<std::ptrdiff_t>(shown),
                              [](const KeyEffects& a, const KeyEffects& b) {
                                  return std::tie(b.rows, b.messages, a.key) <
                                         std::tie(a.rows, a.messages, b.key);
                              });
    nlohmann::json examples = nlohmann::json::array();
    for (std::size_t i = 0; i < shown; ++i) {
        examples.push_back(
            {{"key", keys[i].key}, {"messages", keys[i].messages}, {"rows", keys[i].rows}});
    }
    return examples;
}

}  // namespace

void EffectCounts::came(std::string_view key) {
    const auto [place, is_new] = places_.emplace(key, keys_.size());
    if (is_new) keys_.push_back({std::string(key)});
    ++keys_[place->second].messages;
}

std::vector<std::optional<std::string_view>> EffectCounts::keys() const {
    std::vector<std::optional<std::string_view>> all;
    for (const KeyEffects& key : keys_) all.emplace_back(key.key);
    return all;
}

void EffectCounts::found(const std::vector<std::int64_t>& rows) {
    expects(rows.size() == keys_.size(), "each key has its number of rows");
    for (std::size_t i = 0; i < rows.size(); ++i) keys_[i].rows = rows[i];
}

nlohmann::json EffectCounts::summary() const {
    std::int64_t messages = without_key_;
    std::int64_t sent_again = 0, repeats = 0, none = 0, one = 0, several = 0, doubled = 0;
    for (const KeyEffects& key : keys_) {
        messages += key.messages;
        repeats += key.messages - 1;
        sent_again += key.messages > 1 ? 1 : 0;
        none += key.rows == 0 ? 1 : 0;
        one += key.rows == 1 ? 1 : 0;
        several += key.rows > 1 ? 1 : 0;
        doubled += key.messages > 1 && key.rows > 1 ? 1 : 0;
    }
    return {{"messages", messages},
            {"without_key", without_key_},
            {"keys", keys_.size()},
            {"sent_again", sent_again},
            {"repeats", repeats},
            {"with_no_row", none},
            {"with_one_row", one},
            {"with_several_rows", several},
            {"sent_again_with_several_rows", doubled},
            {"examples", examples_of(keys_)}};
}

}  // namespace onceward
