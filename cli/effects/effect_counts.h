#pragma once
// What an existing consumer made of a topic's keys: how often each came, and how many rows of its
// table have it. Pure; not thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace onceward {

// A key's messages and rows.
struct KeyEffects {
    std::string key;
    std::int64_t messages = 0;
    std::int64_t rows = 0;
};

// It takes about 100 bytes and the key's text for each key.
class EffectCounts {
  public:
    void came(std::string_view key);
    void came_without_key() { ++without_key_; }
    // In an order that stays the same until the next key; the views last until then.
    std::vector<std::optional<std::string_view>> keys() const;
    // `rows`: one for each of keys().
    void found(const std::vector<std::int64_t>& rows);
    // {messages, without_key, keys, sent_again, repeats, with_no_row, with_one_row,
    // with_several_rows, sent_again_with_several_rows, examples: [{key, messages, rows}]}
    nlohmann::json summary() const;

  private:
    std::vector<KeyEffects> keys_;
    std::unordered_map<std::string, std::size_t> places_;
    std::int64_t without_key_ = 0;
};

}  // namespace onceward
