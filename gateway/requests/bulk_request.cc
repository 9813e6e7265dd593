#include "gateway/requests/bulk_request.h"

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace onceward {
namespace {

// Reads the item's two members; anything else is a misspelling of one of them. The whole text is
// known to be JSON, so each value can be skipped. Returns what is wrong with the item.
std::string members_of(simdjson::ondemand::value value, BulkItem& item, bool& has_key) {
    simdjson::ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return "The item is not an object.";
    std::string wrong;
    bool has_body = false;
    for (auto field : object) {
        std::string_view name, raw;
        simdjson::ondemand::value member;
        // Not the value's own text: a value that was read in part could not be skipped.
        if (field.unescaped_key().get(name) != simdjson::SUCCESS ||
            field.value().get(member) != simdjson::SUCCESS) {
            return "The item is not JSON.";
        }
        const bool key = name == "key" && !has_key, body = name == "body" && !has_body;
        if (!key && !body) wrong = "An item has `key` and `body`, each once, and nothing else.";
        if (key) {
            has_key = true;
            std::string_view text;
            if (member.get_string().get(text) == simdjson::SUCCESS) {
                item.key = text;
            } else {
                wrong = "The item's `key` is not a string.";
            }
        } else if (body) {
            has_body = true;
            if (simdjson::to_json_string(member).get(raw) != simdjson::SUCCESS) {
                return "The item is not JSON.";
            }
            item.body = raw;
            while (!item.body.empty() &&
                   std::isspace(static_cast<unsigned char>(item.body.back()))) {
                item.body.pop_back();
            }
        }
    }
    if (!wrong.empty()) return wrong;
    return has_body ? "" : "The item has no `body`.";
}

void read_item(simdjson::ondemand::value value, const KeyHeaderOptions& options, BulkItem& item) {
    bool has_key = false;
    item.malformed = members_of(value, item, has_key);
    if (has_key) {
        item.fault = check_key_text(item.key, options);
    } else if (options.use == KeyUse::required) {
        item.fault = KeyFault::missing;
    }
    if (item.fault || !item.malformed.empty()) item.key.clear();
}

}  // namespace

BulkReading read_bulk(std::string_view json, const KeyHeaderOptions& key, std::size_t most_items) {
    // The whole text is checked first: the on-demand parser does not see what follows a fault.
    if (!nlohmann::json::accept(json)) return {.fault = "it is no JSON"};
    simdjson::ondemand::parser parser;
    const simdjson::padded_string padded(json);
    simdjson::ondemand::document document;
    simdjson::ondemand::array array;
    if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
        document.get_array().get(array) != simdjson::SUCCESS) {
        return {.fault = "it is not an array of items"};
    }
    BulkReading reading;
    for (auto element : array) {
        simdjson::ondemand::value value;
        if (element.get(value) != simdjson::SUCCESS) return {.fault = "it is no JSON"};
        if (reading.items.size() == most_items) {
            return {.fault = "it has more than " + std::to_string(most_items) + " items"};
        }
        BulkItem item;
        read_item(value, key, item);
        reading.items.push_back(std::move(item));
    }
    if (reading.items.empty()) return {.fault = "it has no items"};
    return reading;
}

void BulkResponse::put(std::size_t place, const HttpResponse& response) {
    using Handler = nlohmann::json::error_handler_t;
    nlohmann::ordered_json head;
    if (!keys_[place].empty()) head["key"] = keys_[place];
    head["status"] = response.status;
    if (response.replayed) head["replayed"] = true;
    if (const auto type = only_value(response.headers, "Content-Type")) head["type"] = *type;
    std::string body;
    if (!response.body.empty()) {
        // As it is, so that no number loses a digit.
        body = nlohmann::json::accept(response.body)
                   ? response.body
                   : nlohmann::json(response.body).dump(-1, ' ', false, Handler::replace);
        if (body.size() > left_ && has_body_) {
            head["body_left_out"] = true;
            body.clear();
        }
    }
    left_ -= std::min(left_, body.size());
    has_body_ = has_body_ || !body.empty();
    std::string& item = items_[place];
    item = head.dump(-1, ' ', false, Handler::replace);
    if (body.empty()) return;
    item.back() = ',';
    item += "\"body\":" + body + '}';
}

HttpResponse BulkResponse::made() const {
    std::string body = "[";
    for (const std::string& item : items_) {
        if (body.size() > 1) body += ',';
        body += item;
    }
    return {.status = 207, .headers = {{"Content-Type", "application/json"}}, .body = body + "]"};
}

}  // namespace onceward
