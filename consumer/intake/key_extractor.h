#pragma once
// Finds a message's idempotency key, validates it and computes its digest.
// One for each MessageBuilder, used by its thread. Construction throws FormatError (a pattern that
// is not a regular expression); afterwards bad data only sets Message::rejection or
// Message::skipped.

#include <memory_resource>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "consumer/decode/format_options.h"
#include "consumer/intake/key_options.h"
#include "dedup/message/message.h"

namespace onceward {

// The path's place among `paths`; it is added if it is new.
std::size_t place_among(std::vector<std::string>& paths, const std::string& path);

class KeyExtractor {
  public:
    // A pattern is not tried on more bytes than this: std::regex recurses for each of them.
    static constexpr std::size_t pattern_length_max = 4096;

    KeyExtractor(KeyOptions options, const std::string& consumer_group, std::string topic,
                 Format format);
    void set_topic_id(std::string topic_id) { topic_id_ = std::move(topic_id); }
    // The payload's fields that the key and the tenant are read from; without repeats.
    const std::vector<std::string>& paths() const { return paths_; }
    // Sets digest, key_text and minted_at, or rejection, or skipped. `values` belong to paths(), in
    // that order.
    void extract(Message& message, std::span<const Value> values,
                 std::pmr::memory_resource& arena) const;
    // For a message that is rejected already: sets key_text, for the dead letter, if no field is
    // needed for it.
    void note_key(Message& message, std::pmr::memory_resource& arena) const;

  private:
    // A source, with what is computed only once.
    struct Source {
        KeySource options;
        std::string kind;
        std::size_t path = 0;     // field: which of paths(); cloudevents: its `source`
        std::size_t id_path = 0;  // cloudevents: its `id`
        std::vector<std::size_t> part_paths{};  // fields: which of paths(), in the key's order
    };

    void add(const KeySource& source, Format format);
    KeyText read(const Source& source, const Record& record, std::span<const Value> values,
                 std::pmr::memory_resource& arena) const;
    KeyText cloudevent(const Source& source, const Record& record, std::span<const Value> values,
                       std::pmr::memory_resource& arena) const;
    static KeyText composed(const Source& source, const Record& record,
                            std::span<const Value> values, std::pmr::memory_resource& arena);
    KeyText tenant_of(const Record& record, std::span<const Value> values,
                      std::pmr::memory_resource& arena) const;
    std::optional<MintedAt> minted_at(const Message& message, std::span<const Value> values) const;
    std::string coordinates(const Record& record) const;
    const char* fault_of(std::string_view text) const;
    void without_key(Message& message, KeyPolicy policy, Rejection::Kind kind, std::string reason,
                     std::pmr::memory_resource& arena) const;

    KeyOptions options_;
    std::string operation_;
    std::string topic_;
    std::string topic_id_;
    std::vector<Source> sources_;
    std::vector<std::string> paths_;
    std::size_t tenant_path_ = 0;
    std::size_t minted_path_ = 0;
    std::optional<std::regex> pattern_;
    std::string missing_;  // the reason, for the dead letters
};

}  // namespace onceward
