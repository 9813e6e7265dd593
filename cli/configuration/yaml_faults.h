#pragma once
// What yaml-cpp refuses, as a place and a sentence that says what to write there instead: its own
// words name parts of its grammar. Pure; thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cli/configuration/configuration.h"

namespace onceward {

// What yaml-cpp had read of a text before it stopped.
struct YamlProgress {
    Mark scalar{1, 1};              // where the last scalar begins
    bool quoted = false;            // whether that scalar is in quotes
    Mark bracket{};                 // where the innermost open list or mapping begins
    std::string_view bracket_is{};  // its bracket; '' if it has none, but lines of its own
};

struct YamlFault {
    Mark mark;
    std::string message;
};

// `what`: the message of yaml-cpp's exception; `at`: its place.
YamlFault yaml_fault(std::string_view text, const std::string& what, Mark at,
                     const YamlProgress& read);

// Where the colon of `amount:/amount` is: after a name, and no blank follows. YAML takes all of it
// for one text.
std::optional<std::size_t> joined_colon(std::string_view text);
// REQUIRES: `colon` is joined_colon() of the text.
std::string joined_colon_advice(std::string_view text, std::size_t colon);

}  // namespace onceward
