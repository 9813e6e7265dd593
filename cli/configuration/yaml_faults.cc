#include "cli/configuration/yaml_faults.h"

#include <yaml-cpp/exceptions.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace onceward {
namespace {

namespace says = YAML::ErrorMsg;

constexpr const char* in_quotes =
    "A value that begins with `@`, `%`, `*`, `&`, `!` or a backtick must be in quotes.";
constexpr const char* no_escape =
    "A `\\` in double quotes begins an escape, and this is none. Write `\\\\`, or use single "
    "quotes.";
constexpr const char* fits_nothing =
    "This line fits nothing above it. Indent it like the lines that it belongs to, and write "
    "`NAME: VALUE` or `- VALUE`.";

struct YamlSentence {
    const char* what;  // how yaml-cpp's message begins
    const char* sentence;
};
const std::array sentences{
    YamlSentence{says::END_OF_MAP, fits_nothing},
    YamlSentence{says::END_OF_SEQ, fits_nothing},
    YamlSentence{says::MAP_VALUE,
                 "This line is indented too deep, or the line before it is not `NAME: VALUE`. "
                 "Indent options that belong together alike."},
    YamlSentence{says::MAP_KEY, "A value that begins with `? ` must be in quotes."},
    YamlSentence{says::BLOCK_ENTRY,
                 "A `-` begins an entry of a list, and stands in a line of its own. Put a text "
                 "that begins with it in quotes."},
    YamlSentence{says::FLOW_END,
                 "No bracket of this kind is open here. Remove it, or put the text in quotes."},
    YamlSentence{says::CHAR_IN_BLOCK,
                 "A value that begins with `|` or `>` must be in quotes, unless it is in the lines "
                 "below this one."},
    YamlSentence{says::DOC_IN_SCALAR,
                 "This line ends the document, and a quote before it is not closed. Close the "
                 "quote in its line."},
    YamlSentence{says::UNKNOWN_TOKEN, in_quotes},
    YamlSentence{says::ALIAS_NOT_FOUND, in_quotes},
    YamlSentence{says::ANCHOR_NOT_FOUND, in_quotes},
    YamlSentence{says::UNKNOWN_ANCHOR, in_quotes},
    YamlSentence{says::CHAR_IN_ALIAS, in_quotes},
    YamlSentence{says::CHAR_IN_ANCHOR, in_quotes},
    YamlSentence{says::INVALID_ESCAPE, no_escape},
    YamlSentence{says::INVALID_HEX, no_escape},
    YamlSentence{says::INVALID_UNICODE, no_escape},
};

bool says_one_of(const std::string& what, std::initializer_list<std::string_view> messages) {
    return std::ranges::find(messages, std::string_view(what)) != messages.end();
}

// Without its end; '' if there is no such line. The first is 1.
std::string_view yaml_line(std::string_view text, int number) {
    for (; number > 1 && !text.empty(); --number) {
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    }
    text = text.substr(0, text.find('\n'));
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
}

// Whether the text begins with a port, as that of `broker:9092,other:9092` after its first colon.
bool begins_with_port(std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    return digits > 1 && (digits == text.size() || text[digits] == ',' || text[digits] == ' ');
}

// If the line is `NAME:VALUE`, also as an entry of a list.
std::optional<YamlFault> joined_pair(std::string_view text, int number) {
    const std::string_view line = yaml_line(text, number);
    const std::size_t begin = std::min(line.find_first_not_of(" -"), line.size());
    const auto colon = joined_colon(line.substr(begin));
    if (!colon || begins_with_port(line.substr(begin + *colon + 1))) return std::nullopt;
    return YamlFault{{number, static_cast<int>(begin) + 1},
                     joined_colon_advice(line.substr(begin), *colon)};
}

// The line before this one that has more than a comment; 0 if there is none.
int line_before(std::string_view text, int number) {
    while (--number > 0) {
        const std::string_view line = yaml_line(text, number);
        const std::size_t begin = line.find_first_not_of(" \t");
        if (begin != std::string_view::npos && line[begin] != '#') break;
    }
    return number;
}

// What only the lines themselves show.
std::optional<YamlFault> fault_of_lines(std::string_view text, const std::string& what, Mark at) {
    if (!says_one_of(what, {says::MAP_VALUE, says::END_OF_MAP, says::END_OF_SEQ})) {
        return std::nullopt;
    }
    // YAML takes the pair for a text, which may continue in the next line: the fault shows there.
    for (const int number : {at.line, line_before(text, at.line)}) {
        if (auto pair = joined_pair(text, number)) return pair;
    }
    if (what != says::MAP_VALUE) return std::nullopt;
    const auto before = static_cast<std::size_t>(std::max(at.column - 1, 0));
    if (yaml_line(text, at.line).substr(0, before).find(": ") == std::string_view::npos) {
        return std::nullopt;
    }
    return YamlFault{at, "A value that holds `: ` must be in quotes."};
}

}  // namespace

std::optional<std::size_t> joined_colon(std::string_view text) {
    const auto of_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
    };
    const auto colon = static_cast<std::size_t>(std::ranges::find_if_not(text, of_name) -
                                                text.begin());
    if (colon == 0 || colon + 1 >= text.size() || text[colon] != ':') return std::nullopt;
    const bool number = text[0] >= '0' && text[0] <= '9';  // `12:30`
    const bool joined = text[colon + 1] != ' ' && text[colon + 1] != '\t';
    const bool url = text.substr(colon + 1).starts_with("//");
    return joined && !number && !url ? std::optional(colon) : std::nullopt;
}

std::string joined_colon_advice(std::string_view text, std::size_t colon) {
    // The value is not shown: it may be a password.
    return "A colon needs a blank after it: `" + std::string(text.substr(0, colon)) + ": ...`.";
}

YamlFault yaml_fault(std::string_view text, const std::string& what, Mark at,
                     const YamlProgress& read) {
    const std::string_view line = yaml_line(text, at.line);
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::size_t tab = line.substr(0, begin).find('\t');
    if (read.bracket_is.empty() && tab != std::string_view::npos) {
        return {{at.line, static_cast<int>(tab) + 1},
                "A tab indents this line. Indent with spaces."};
    }
    const bool first_in_line = static_cast<std::size_t>(at.column) <= begin + 1;
    if (read.quoted && !first_in_line &&
        says_one_of(what, {says::END_OF_MAP, says::END_OF_MAP_FLOW, says::END_OF_SEQ_FLOW})) {
        if (read.scalar.line < at.line) {
            return {read.scalar, "The quote that begins here is closed only in line " +
                                     std::to_string(at.line) + ". Close it in this line."};
        }
        return {at,
                "Text follows the end of the quote. Write `''` for a `'` within single quotes, and "
                "`\\\"` for a `\"` within double quotes."};
    }
    if (!read.bracket_is.empty() &&
        says_one_of(what, {says::END_OF_MAP_FLOW, says::END_OF_SEQ_FLOW, says::BLOCK_ENTRY})) {
        return {read.bracket, "The `" + std::string(read.bracket_is) +
                                  "` that begins here is not closed, or a comma is missing between "
                                  "its entries."};
    }
    if (auto fault = fault_of_lines(text, what, at)) return *fault;
    for (const YamlSentence& known : sentences) {
        if (what.starts_with(known.what)) return {at, known.sentence};
    }
    return {at, "This is not valid YAML (" + what +
                    "). Check this line and the one before it: indentation, quotes, colons."};
}

}  // namespace onceward
