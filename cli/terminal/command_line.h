#pragma once
// The words that the program was started with, for the audit log. remember_command_line() is called
// once, before any other thread runs; the rest is pure or only reads.

#include <span>
#include <string>

namespace onceward {

void remember_command_line(int argument_count, char** arguments);
// The running program's words, as words_without_secrets() writes them; '' before that call.
const std::string& command_line();

// The words in one line, those with blanks in quotes. What `--dsn` names is left out, and any other
// word that holds a password.
std::string words_without_secrets(std::span<const std::string> words);

}  // namespace onceward
