#pragma once
// What only a terminal shows: colours, and a line that is written again and again. A stream that is
// no terminal gets neither, and NO_COLOR or TERM=dumb turns the colours off (no-color.org).
// Not thread-safe; throws nothing.

#include <iosfwd>
#include <string_view>

namespace onceward {

enum class Color : unsigned char { red, yellow, green, bold };

// `stream`: std::cout or std::cerr; any other one is no terminal.
bool is_terminal(const std::ostream& stream);
// The columns of the terminal; `otherwise` if it is none or does not say.
int terminal_columns(const std::ostream& stream, int otherwise);

// The text, in that colour if the stream shows colours. The codes of the colour bypass the stream,
// which escapes control characters of anything that is written to it.
void paint(std::ostream& stream, Color color, std::string_view text);

// Replaces the last line of standard error, which has to be a terminal. '' leaves it empty.
void rewrite_line(std::string_view text);

}  // namespace onceward
