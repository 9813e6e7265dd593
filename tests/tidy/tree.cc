#include "tests/tidy/tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace onceward::tidy {
namespace {

bool is_word_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return "";
    return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

// Where the literal that begins at `at` ends (one past it), and whether something begins there.
struct Token {
    enum class Kind { other, comment, text, character } kind = Kind::other;
    std::size_t end = 0;
    std::size_t inner_begin = 0;
    std::size_t inner_end = 0;
};

Token quoted_token(std::string_view text, std::size_t at, Token::Kind kind) {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
    end = std::min(end, text.size());
    return {kind, std::min(end + 1, text.size()), at + 1, end};
}

Token raw_token(std::string_view text, std::size_t at) {
    const std::size_t open = text.find('(', at);
    if (open == std::string_view::npos) return {Token::Kind::text, text.size(), at, text.size()};
    const std::string close = ")" + std::string(text.substr(at + 2, open - at - 2)) + "\"";
    const std::size_t end = std::min(text.find(close, open), text.size());
    return {Token::Kind::text, std::min(end + close.size(), text.size()), open + 1, end};
}

Token token_at(std::string_view text, std::size_t at) {
    const std::string_view two = text.substr(at, 2);
    const bool after_word = at > 0 && is_word_character(text[at - 1]);
    if (two == "//") {
        return {Token::Kind::comment, std::min(text.find('\n', at), text.size()), at, at};
    }
    if (two == "/*") {
        const std::size_t end = text.find("*/", at + 2);
        return {Token::Kind::comment, end == std::string_view::npos ? text.size() : end + 2, at,
                at};
    }
    if (two == "R\"" && !after_word) return raw_token(text, at);
    if (text[at] == '"') return quoted_token(text, at, Token::Kind::text);
    // After a digit it separates thousands.
    if (text[at] == '\'' && !after_word) return quoted_token(text, at, Token::Kind::character);
    return {Token::Kind::other, at + 1, at, at};
}

}  // namespace

Tree read_tree(const std::filesystem::path& root) {
    static const std::set<std::string> passed_over{".git",    "build", ".cache",
                                                   ".vscode", ".idea", "third_party"};
    Tree tree;
    for (auto entry = std::filesystem::recursive_directory_iterator(root);
         entry != std::filesystem::recursive_directory_iterator(); ++entry) {
        if (entry.depth() == 0 && passed_over.contains(entry->path().filename())) {
            if (entry->is_directory()) entry.disable_recursion_pending();
            continue;
        }
        // What the clients' own tools leave there.
        static const std::set<std::string> left_behind{
            "node_modules",  "build",       "dist", "__pycache__",
            ".pytest_cache", ".mypy_cache", ".venv"};
        if (entry->is_directory() && left_behind.contains(entry->path().filename())) {
            entry.disable_recursion_pending();
            continue;
        }
        // Archives of what a fuzzer made are no text.
        if (std::filesystem::relative(entry->path(), root) == "tests/fuzz/corpus") {
            entry.disable_recursion_pending();
            continue;
        }
        if (!entry->is_regular_file()) continue;
        std::string& text = tree[std::filesystem::relative(entry->path(), root).generic_string()];
        // Nor are pictures, which pages may show.
        if (entry->path().extension() == ".png") continue;
        std::ifstream file(entry->path(), std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(file), {});
    }
    return tree;
}

bool is_cpp(std::string_view path) { return path.ends_with(".cc") || path.ends_with(".h"); }
bool is_header(std::string_view path) { return path.ends_with(".h"); }

bool within(std::string_view path, std::string_view folder) {
    return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

std::string top_folder(std::string_view path) {
    return std::string(path.substr(0, path.find('/')));
}
std::string file_name(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    std::istringstream stream{std::string(text)};
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

std::string place(const std::string& path, std::size_t line_index) {
    return path + ":" + std::to_string(line_index + 1);
}

std::string code_of(std::string_view text, Literals literals) {
    std::string code(text);
    for (std::size_t at = 0; at < text.size();) {
        const Token token = token_at(text, at);
        std::size_t begin = at;
        std::size_t end = at;
        if (token.kind == Token::Kind::comment) {
            end = token.end;
        } else if (token.kind != Token::Kind::other && literals == Literals::blank) {
            begin = token.inner_begin;
            end = token.inner_end;
        }
        for (std::size_t i = begin; i < end; ++i) {
            if (code[i] != '\n') code[i] = ' ';
        }
        at = token.end;
    }
    return code;
}

std::vector<std::pair<std::size_t, std::string>> string_literals(std::string_view text) {
    std::vector<std::pair<std::size_t, std::string>> literals;
    std::size_t line = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Token token = token_at(text, at);
        if (token.kind == Token::Kind::text) {
            literals.emplace_back(
                line, text.substr(token.inner_begin, token.inner_end - token.inner_begin));
        }
        const std::string_view passed = text.substr(at, token.end - at);
        line += static_cast<std::size_t>(std::ranges::count(passed, '\n'));
        at = token.end;
    }
    return literals;
}

std::string content(const Tree& tree, const std::string& path) {
    const auto found = tree.find(path);
    return found == tree.end() ? std::string() : found->second;
}

bool in_product(const std::string& path) {
    static const std::set<std::string> folders{"consumer", "dedup", "sinks", "gateway", "cli"};
    return is_cpp(path) && folders.contains(top_folder(path));
}

bool has_word(std::string_view text, std::string_view word) {
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !is_word_character(text[at - 1])) &&
            (end == text.size() || !is_word_character(text[end]))) {
            return true;
        }
    }
    return false;
}

std::set<std::string> words_of(std::string_view text) {
    std::set<std::string> words;
    std::string word;
    for (const char c : std::string(text) + " ") {
        if (is_word_character(c)) {
            word += c;
        } else if (!word.empty()) {
            words.insert(std::exchange(word, {}));
        }
    }
    return words;
}

std::vector<std::vector<std::string>> table_under(const std::string& markdown,
                                                  const std::string& title) {
    std::vector<std::vector<std::string>> rows;
    bool under = false;
    int seen = 0;
    for (const std::string& line : lines_of(markdown)) {
        if (line.starts_with("## ")) under = line == "## " + title;
        if (!under) continue;
        if (!line.starts_with("|")) {
            if (seen > 0) break;
            continue;
        }
        if (++seen <= 2) continue;
        std::vector<std::string> cells;
        std::istringstream stream(line.substr(1));
        for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(trimmed(cell));
        rows.push_back(std::move(cells));
    }
    return rows;
}

const Tree& repository() {
    static const Tree tree = read_tree(ONCEWARD_SOURCE_FOLDER);
    return tree;
}

std::vector<std::string> quoted(const std::string& cell) {
    std::vector<std::string> names;
    for (std::size_t at = cell.find('`'); at != std::string::npos;) {
        const std::size_t end = cell.find('`', at + 1);
        if (end == std::string::npos) break;
        names.push_back(cell.substr(at + 1, end - at - 1));
        at = cell.find('`', end + 1);
    }
    return names;
}

}  // namespace onceward::tidy
