#pragma once
// A request that carries many: an array of items, each with a key of its own, and an answer for
// each. Pure; thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
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

struct BulkAnswer {
    std::string key;
    HttpResponse response;
};

// 207: `[{"key", "status", "replayed", "type", "body"}, ...]` in the items' order. A JSON body is
// embedded as it is, any other as a text.
HttpResponse bulk_response(const std::vector<BulkAnswer>& answers);

}  // namespace onceward
