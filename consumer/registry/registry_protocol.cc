#include "consumer/registry/registry_protocol.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

namespace onceward {
namespace {

using Kind = RegistryAnswer::Kind;

constexpr std::size_t longest_message = 200;
constexpr std::int64_t longest_wait_s = 3600;

// DANGER: a 404 alone does not mean that there is no schema. A wrong path, a proxy or a gateway
// gives it too, and each message of the topic would go to the dead letters.
constexpr bool says_unknown(std::int64_t code) {
    return code == 40401 || code == 40402 || code == 40403;
}

std::string percent_encoded(std::string_view text) {
    static constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static constexpr std::string_view digits = "0123456789ABCDEF";
    std::string encoded;
    for (const char letter : text) {
        if (plain.find(letter) != std::string_view::npos) {
            encoded += letter;
            continue;
        }
        const auto byte = static_cast<unsigned char>(letter);
        encoded += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return encoded;
}

// The text is another system's: a blank replaces each character that would spoil a log line.
std::string printable(std::string_view text) {
    std::string line(text.substr(0, longest_message));
    std::ranges::replace_if(
        line, [](unsigned char letter) { return letter < 0x20 || letter > 0x7e; }, ' ');
    return line;
}

struct ErrorBody {
    std::int64_t code = 0;
    std::string message;
};

ErrorBody error_of(const std::string& body) {
    ErrorBody error;
    simdjson::dom::parser parser;
    simdjson::dom::object object;
    if (parser.parse(body).get(object) != simdjson::SUCCESS) return error;
    std::string_view message;
    if (object["error_code"].get(error.code) != simdjson::SUCCESS) error.code = 0;
    if (object["message"].get(message) == simdjson::SUCCESS) error.message = printable(message);
    return error;
}

RegistryAnswer failed(std::string reason, std::optional<std::chrono::seconds> later = {}) {
    return {.kind = Kind::failed, .reason = std::move(reason), .retry_after = later};
}

RegistryAnswer read_error(const RegistryReply& reply) {
    const ErrorBody error = error_of(reply.body);
    const std::string detail = error.message.empty() ? "" : ": " + error.message;
    const std::string answers = "answers " + std::to_string(reply.status);
    if (reply.status == 404 && says_unknown(error.code)) {
        return {.kind = Kind::unknown, .reason = "has no such schema" + detail};
    }
    if (reply.status == 404) {
        return failed(answers +
                      " without a registry's error code; is its address right, and does it know "
                      "this kind of id?" +
                      detail);
    }
    if (reply.status == 401 || reply.status == 403) {
        return failed(answers + ": it refuses the login" + detail, reply.retry_after);
    }
    if (reply.status >= 300 && reply.status < 400) {
        return failed(answers + ", a redirect, which is not followed; write its target");
    }
    return failed(answers + detail, reply.retry_after);
}

std::optional<SchemaLanguage> language_of(std::string_view type) {
    if (type == "AVRO") return SchemaLanguage::avro;
    if (type == "PROTOBUF") return SchemaLanguage::protobuf;
    if (type == "JSON") return SchemaLanguage::json;
    return std::nullopt;
}

std::optional<SchemaReference> read_reference(const simdjson::dom::element& element) {
    std::string_view name;
    std::string_view subject;
    std::int64_t version = 0;
    if (element["name"].get(name) != simdjson::SUCCESS ||
        element["subject"].get(subject) != simdjson::SUCCESS ||
        element["version"].get(version) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    return SchemaReference{std::string(name), std::string(subject), static_cast<int>(version)};
}

RegistryAnswer read_schema(const std::string& body) {
    const RegistryAnswer no_schema =
        failed("answers 200, but not with a schema; is its address right?");
    simdjson::dom::parser parser;
    simdjson::dom::object object;
    std::string_view text;
    if (parser.parse(body).get(object) != simdjson::SUCCESS) return no_schema;
    if (object["schema"].get(text) != simdjson::SUCCESS) return no_schema;
    RegistryAnswer answer{.kind = Kind::found, .text = std::string(text)};
    simdjson::dom::element type;
    // It is left out for Avro, which was the only language once.
    if (object["schemaType"].get(type) == simdjson::SUCCESS && !type.is_null()) {
        std::string_view name;
        if (type.get(name) != simdjson::SUCCESS) return no_schema;
        const std::optional<SchemaLanguage> language = language_of(name);
        if (!language) {
            return {.kind = Kind::refused,
                    .reason = "has it in the language `" + printable(name) +
                              "`, which is none of AVRO, PROTOBUF and JSON"};
        }
        answer.language = *language;
    }
    simdjson::dom::array references;
    if (object["references"].get(references) != simdjson::SUCCESS) return answer;
    for (const simdjson::dom::element element : references) {
        std::optional<SchemaReference> reference = read_reference(element);
        if (!reference) return no_schema;
        answer.references.push_back(std::move(*reference));
    }
    return answer;
}

}  // namespace

std::string schema_path(const SchemaId& id) {
    if (!id.guid.empty()) return "/schemas/guids/" + percent_encoded(id.guid);
    return "/schemas/ids/" + std::to_string(id.number);
}

// A schema can be had by its number even if its version was soft-deleted, but a version only on
// request. Registries without such a deletion ignore the request.
std::string reference_path(const SchemaReference& reference) {
    return "/subjects/" + percent_encoded(reference.subject) + "/versions/" +
           std::to_string(reference.version) + "?deleted=true";
}

std::string latest_path(const std::string& subject) {
    return "/subjects/" + percent_encoded(subject) + "/versions/latest";
}

std::optional<std::int32_t> registered_number(const RegistryReply& reply) {
    std::int64_t number = 0;
    simdjson::dom::parser parser;
    simdjson::dom::object object;
    if (reply.status != 200 || parser.parse(reply.body).get(object) != simdjson::SUCCESS ||
        object["id"].get(number) != simdjson::SUCCESS ||
        number < std::numeric_limits<std::int32_t>::min() ||
        number > std::numeric_limits<std::int32_t>::max()) {
        return std::nullopt;
    }
    return static_cast<std::int32_t>(number);
}

RegistryAnswer read_answer(const RegistryReply& reply) {
    if (reply.status == 0) return failed("cannot be reached: " + printable(reply.failure));
    if (reply.status != 200) return read_error(reply);
    return read_schema(reply.body);
}

std::optional<std::chrono::seconds> retry_after(const std::string& header) {
    std::int64_t seconds = 0;
    const auto [end, error] =
        std::from_chars(header.data(), header.data() + header.size(), seconds);
    if (error != std::errc{} || end != header.data() + header.size() || seconds < 0) {
        return std::nullopt;
    }
    return std::chrono::seconds(std::min(seconds, longest_wait_s));
}

}  // namespace onceward
