#pragma once
// What the fuzz targets share: the entry that libFuzzer calls, an oracle that ends the process with
// a sentence, and a reader that cuts the input into parts. Used by one thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "dedup/message/value.h"

// libFuzzer's name for it. Each target defines it once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace onceward::fuzz {

// Both drivers take the abort for a defect, and keep the input.
inline void require(bool holds, std::string_view claim) {
    if (holds) return;
    std::fprintf(stderr, "oracle: %.*s does not hold\n", static_cast<int>(claim.size()),
                 claim.data());
    std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return size == 0 ? std::string_view("")
                     : std::string_view(reinterpret_cast<const char*>(data), size);
}

// Takes parts off the front; what is not there is 0 or empty.
class Parts {
  public:
    explicit Parts(std::string_view input) : rest_(input) {}

    std::uint8_t byte() {
        if (rest_.empty()) return 0;
        const auto first = static_cast<std::uint8_t>(rest_.front());
        rest_.remove_prefix(1);
        return first;
    }
    // As long as the two bytes before it say.
    std::string_view text() {
        const std::size_t length = byte() + 256U * byte();
        const std::string_view part = rest_.substr(0, length);
        rest_.remove_prefix(part.size());
        return part;
    }
    std::string_view rest() const { return rest_; }

  private:
    std::string_view rest_;
};

// What two decodings of one payload must agree in.
inline std::string describe(std::span<const Value> values) {
    std::string text;
    for (const Value& value : values) {
        text += std::to_string(static_cast<int>(value.kind)) + ":";
        switch (value.kind) {
            case Value::Kind::absent:
            case Value::Kind::null: break;
            case Value::Kind::boolean: text += value.boolean ? "1" : "0"; break;
            case Value::Kind::integer:
            case Value::Kind::natural:
            case Value::Kind::real: text += std::to_string(value.natural); break;
            case Value::Kind::timestamp:
                text += std::to_string(value.integer) + " " + std::string(value.text);
                break;
            case Value::Kind::number:
            case Value::Kind::text:
            case Value::Kind::bytes:
            case Value::Kind::json: text += value.text; break;
        }
        text += '\n';
    }
    return text;
}

}  // namespace onceward::fuzz
