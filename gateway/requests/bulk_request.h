#pragma once
// A request that carries many: an array of items, each with a key of its own, and an answer for
// each. No I/O; the functions are pure and thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/checks/key_header.h"

namespace onceward {

struct BulkItem {
    std::string key;   // '' together with a fault, and if the key is optional and absent
    std::string body;  // as it was written: no number loses a digit
    std::optional<KeyFault> fault{};
    std::string malformed{};  // what is wrong with the item's form; '' if nothing is
};

struct BulkReading {
    std::vector<BulkItem> items{};
    std::string fault{};  // '' if the whole can be read
};

// The most items of one request, and so of one transaction.
inline constexpr std::size_t most_bulk_items = 1000;

// `[{"key": TEXT, "body": ANY}, ...]`, at most `most_items` of them. Keys follow the rules of a
// route's header.
BulkReading read_bulk(std::string_view json, const KeyHeaderOptions& key, std::size_t most_items);

// The most bytes of bodies in the answer to a bulk, unless one body alone has more. A thousand
// stored answers may be much larger, and one request must not take that memory.
inline constexpr std::size_t most_bulk_bytes = std::size_t{4} * 1024 * 1024;

// The answer to a bulk, made from the answers to its items. Not thread-safe.
class BulkResponse {
  public:
    // One key for each item; '' if it has none.
    explicit BulkResponse(std::vector<std::string> keys, std::size_t most_bytes = most_bulk_bytes)
        : keys_(std::move(keys)), items_(keys_.size()), left_(most_bytes) {}
    // A JSON body is embedded as it is, any other as a text. If the body does not fit any more, the
    // item gets `"body_left_out": true` in its place. The first body always fits: no other request
    // would get it.
    void put(std::size_t place, const HttpResponse& response);
    // 207: `[{"key", "status", "replayed", "type", "body"}, ...]` in the items' order. REQUIRES:
    // each item has its answer.
    HttpResponse made() const;

  private:
    std::vector<std::string> keys_;
    std::vector<std::string> items_;  // as JSON
    std::size_t left_;                // for further bodies
    bool has_body_ = false;
};

}  // namespace onceward
