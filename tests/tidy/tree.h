#pragma once
// The repository as the rules see it: each text file's path and content. A plain value, so that a
// rule can be tried on a tree that is made up. Every rule answers with what it found, one text
// each.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace onceward::tidy {

using Tree = std::map<std::string, std::string>;  // path from the root -> content
using Findings = std::vector<std::string>;

// Everything but version control, build trees and editors' folders. Throws where `root` is none.
Tree read_tree(const std::filesystem::path& root);
// That of this repository, read once.
const Tree& repository();

bool is_cpp(std::string_view path);
bool is_header(std::string_view path);
// Whether `path` lies in `folder`, which is written without its last slash.
bool within(std::string_view path, std::string_view folder);
// The first part of the path; the path itself for a file of the root.
std::string top_folder(std::string_view path);
std::string file_name(std::string_view path);

std::vector<std::string> lines_of(std::string_view text);
// `path:line`
std::string place(const std::string& path, std::size_t line_index);

// C++ with comments blanked out, and on demand what stands in literals too. Lines keep their
// numbers.
enum class Literals { keep, blank };
std::string code_of(std::string_view text, Literals literals);
// The string literals of a C++ text, each with the line it begins on, raw ones included.
std::vector<std::pair<std::size_t, std::string>> string_literals(std::string_view text);

// The file's text; empty if there is no such file.
std::string content(const Tree& tree, const std::string& path);
// Whether it is a C++ file of the product, of one of its five folders.
bool in_product(const std::string& path);

bool has_word(std::string_view text, std::string_view word);
std::set<std::string> words_of(std::string_view text);

// The cells of the first Markdown table under the heading `## title`, without its head.
std::vector<std::vector<std::string>> table_under(const std::string& markdown,
                                                  const std::string& title);
// What stands between `backticks`.
std::vector<std::string> quoted(const std::string& cell);

}  // namespace onceward::tidy
