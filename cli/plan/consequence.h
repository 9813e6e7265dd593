#pragma once
// What a changed configuration leads to, said so that an operator can decide. Plain values.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace onceward {

struct Consequence {
    enum class Level : std::uint8_t {
        nothing,
        safe,     // no message is lost or applied twice
        restart,  // the same, and it takes effect with a restart alone
        danger,   // messages may be applied twice, not applied, or wait for nobody
    };
    Level level = Level::nothing;
    // Whether a running process can take the change: see cli/process/reload.h. A dangerous change
    // may be such a one, and is taken if somebody wants it.
    bool reloads = false;
    std::string topic = {};  // '': of the whole process
    std::string option = {};  // such as `key.operation`; '' if the topic itself came or went
    std::string text = {};  // a sentence without its full stop
    std::string instead = {};  // what to do; '' if there is nothing to do
};

std::string_view to_text(Consequence::Level level);
Consequence::Level worst(const std::vector<Consequence>& consequences);
// `danger: topic orders: key.tenant: every key becomes new ... Instead: keep it.`
std::string line_of(const Consequence& consequence);
nlohmann::ordered_json json_of(const Consequence& consequence);

}  // namespace onceward
