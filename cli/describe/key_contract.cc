#include "cli/describe/key_contract.h"

#include <algorithm>

namespace onceward {
namespace {

std::string source_words(const KeySource& source) {
    switch (source.kind) {
        case KeySource::Kind::header:
            return "the header " + source.name +
                   (source.strip_quotes ? " (in double quotes, RFC 8941, or without)" : "");
        case KeySource::Kind::record_key: return "the record's key";
        case KeySource::Kind::field: return "the field " + source.name;
        case KeySource::Kind::cloudevents: return "CloudEvents' source and id";
        case KeySource::Kind::payload_sha256: return "the payload itself";
        case KeySource::Kind::coordinates: return "Kafka's topic, partition and offset";
    }
    return {};
}

bool minted(const KeySource& source) {
    return source.kind != KeySource::Kind::payload_sha256 &&
           source.kind != KeySource::Kind::coordinates;
}

std::string key_words(const KeyOptions& key) {
    const bool by_producer = std::ranges::any_of(key.sources, minted);
    std::string text;
    for (const KeySource& source : key.sources) {
        const char* const before = !text.empty() ? ", else "
                                   : by_producer ? "minted by the producer: "
                                                 : "";
        text += before + source_words(source);
    }
    return text;
}

std::string charset_words(KeyOptions::Charset charset) {
    switch (charset) {
        case KeyOptions::Charset::any: return "any but NUL";
        case KeyOptions::Charset::ascii_printable: return "printable ASCII";
        case KeyOptions::Charset::uuid: return "a UUID";
    }
    return {};
}

std::string format_words(const KeyOptions& key) {
    return std::to_string(key.length_min) + " to " + std::to_string(key.length_max) + " bytes, " +
           charset_words(key.charset) +
           (key.pattern.empty() ? "" : ", all of it as `" + key.pattern + "` says") +
           "; taken as it is: nothing is trimmed or folded";
}

std::string policy_words(KeyPolicy policy, const RejectPolicy& reject) {
    switch (policy) {
        case KeyPolicy::reject:
            return reject.action == RejectPolicy::Action::halt
                       ? "the topic halts before it"
                       : "a dead letter: not applied, and nothing is claimed";
        case KeyPolicy::derive:
            return "applied under Kafka's topic, partition and offset: what is produced twice is "
                   "applied twice";
        case KeyPolicy::skip: return "not applied: skipped, and counted";
    }
    return {};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> key_contract(const KeyOptions& key,
                                                              const RejectPolicy& reject) {
    std::vector<std::pair<std::string, std::string>> lines = {{"key", key_words(key)}};
    const bool has_format = std::ranges::any_of(key.sources, minted);
    if (has_format) lines.emplace_back("format", format_words(key));
    lines.emplace_back(key.tenant ? "no key, tenant" : "no key",
                       policy_words(key.on_missing, reject));
    if (has_format) lines.emplace_back("invalid key", policy_words(key.on_invalid, reject));
    return lines;
}

}  // namespace onceward
