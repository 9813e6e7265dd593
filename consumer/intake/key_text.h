#pragma once
// The lexical side of keys: from a value to the key's bytes, and what makes them invalid. Pure
// functions; faults are literals that quote nothing of the key.

#include <memory_resource>
#include <string_view>

#include "consumer/intake/key_options.h"
#include "dedup/message/value.h"

namespace onceward {

struct KeyText {
    enum class Status : std::uint8_t { missing, found, invalid };
    Status status = Status::missing;
    std::string_view text{};      // as it was found
    const char* fault = nullptr;  // of an invalid one
};

// Absent and null are missing. A number's key is its text as written; booleans, objects, lists and
// times are no keys. Keys are bytes: no case folding, no Unicode normalisation (NFC and NFD of a
// text are two keys).
KeyText key_text(const Value& value, std::pmr::memory_resource& arena);

// A header that begins with a quote is read as an RFC 8941 string, whose parameters are ignored; a
// value without quotes stays as it is.
KeyText strip_quotes(std::string_view header, std::pmr::memory_resource& arena);

// The text that the key is a digest of: a UUID in lower case, as RFC 9562 compares it without case.
std::string_view canonical_key_text(std::string_view text, const KeyOptions& options,
                                    std::pmr::memory_resource& arena);

// The first rule of length, NUL and charset that the text breaks, or nullptr.
const char* key_fault(std::string_view text, const KeyOptions& options);

}  // namespace onceward
