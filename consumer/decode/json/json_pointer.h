#pragma once
// JSON pointers (RFC 6901), a step at a time. Pure; thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "dedup/base/text.h"

namespace onceward {

// Turns a step without its slash into the name that it stands for. Returns false for a `~` that is
// neither `~0` nor `~1`; `name` means nothing then.
[[nodiscard]] inline bool unescape_pointer_step(std::string_view step, std::string& name) {
    name.clear();
    for (std::size_t i = 0; i < step.size(); ++i) {
        if (step[i] != '~') {
            name += step[i];
            continue;
        }
        const char escaped = i + 1 < step.size() ? step[i + 1] : ' ';
        if (escaped != '0' && escaped != '1') return false;
        name += escaped == '0' ? '~' : '/';
        ++i;
    }
    return true;
}

// Takes the first step off a pointer that is not empty.
inline std::string_view take_pointer_step(std::string_view& pointer) {
    pointer.remove_prefix(1);
    const std::string_view step = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(step.size());
    return step;
}

// A name as an element's position: digits without a leading zero.
inline std::optional<std::uint64_t> element_position(std::string_view name) {
    if (name.size() > 1 && name.front() == '0') return std::nullopt;
    return number_of<std::uint64_t>(name);
}

}  // namespace onceward
