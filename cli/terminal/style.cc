#include "cli/terminal/style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <string>

namespace onceward {
namespace {

int descriptor_of(const std::ostream& stream) {
    if (&stream == &std::cout) return STDOUT_FILENO;
    return &stream == &std::cerr ? STDERR_FILENO : -1;
}

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool shows_colors(const std::ostream& stream) {
    return variable("NO_COLOR").empty() && variable("TERM") != "dumb" && is_terminal(stream);
}

void write_raw(int descriptor, std::string_view bytes) {
    // If the terminal does not take it, that is not worth an error.
    static_cast<void>(::write(descriptor, bytes.data(), bytes.size()) + 1);
}

}  // namespace

bool is_terminal(const std::ostream& stream) {
    const int descriptor = descriptor_of(stream);
    return descriptor >= 0 && isatty(descriptor) != 0;
}

int terminal_columns(const std::ostream& stream, int otherwise) {
    winsize size{};
    const bool known =
        is_terminal(stream) && ioctl(descriptor_of(stream), TIOCGWINSZ, &size) == 0;
    return known && size.ws_col > 0 ? size.ws_col : otherwise;
}

void paint(std::ostream& stream, Color color, std::string_view text) {
    if (!shows_colors(stream)) {
        stream << text;
        return;
    }
    static constexpr std::array<std::string_view, 4> codes{"\x1b[31m", "\x1b[33m", "\x1b[32m",
                                                           "\x1b[1m"};
    stream << std::flush;
    write_raw(descriptor_of(stream), codes.at(static_cast<std::size_t>(color)));
    stream << text << std::flush;
    write_raw(descriptor_of(stream), "\x1b[0m");
}

void rewrite_line(std::string_view text) {
    std::cerr << std::flush;
    write_raw(STDERR_FILENO, "\r\x1b[K");
    std::cerr << text << std::flush;
}

}  // namespace onceward
