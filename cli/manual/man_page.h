#pragma once
// Manual pages, in the language of man(7). Pure; thread-safe.

#include <string>
#include <string_view>

#include "cli/manual/command_tree.h"

namespace onceward {

// The page of one command, such as onceward-dlq-list(1). `version`: `onceward 0.1.0`, its footer.
std::string man_page(const CommandText& command, std::string_view version);

// A page of section 5 from Markdown as `configuration_reference()` writes it: headings, paragraphs,
// lists, tables, bold, italic and code. `title`: `onceward.yaml`; `what`: a line about it.
std::string man_page_of_markdown(std::string_view markdown, std::string_view title,
                                 std::string_view what, std::string_view version);

}  // namespace onceward
