#include "tests/tidy/word_rules.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace onceward::tidy {
namespace {

std::vector<std::string> listed(const Tree& tree) {
    std::vector<std::string> words;
    for (const auto& row : table_under(content(tree, "CONTRIBUTING.md"), "Words")) {
        for (const std::string& word : quoted(row.at(0))) words.push_back(word);
    }
    return words;
}

std::string lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

std::string without_names(const std::string& text) {
    static const std::regex name("`[^`]*`");
    return std::regex_replace(text, name, "``");
}

// The comments of a line: what is left when the code is taken away.
std::vector<std::string> comments_of(const std::string& text) {
    const std::string code = code_of(text, Literals::keep);
    std::string comments = text;
    for (std::size_t i = 0; i < comments.size() && i < code.size(); ++i) {
        if (comments[i] != '\n' && code[i] == comments[i]) comments[i] = ' ';
    }
    return lines_of(comments);
}

bool has_phrase(const std::string& text, const std::string& phrase) {
    const auto part_of_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    for (auto at = text.find(phrase); at != std::string::npos; at = text.find(phrase, at + 1)) {
        const auto end = at + phrase.size();
        const bool begins = at == 0 || !part_of_word(text[at - 1]);
        const bool ends = end == text.size() || !part_of_word(text[end]);
        if (begins && ends) return true;
    }
    return false;
}

void find_words(const std::string& where, const std::string& text,
                const std::vector<std::string>& words, Findings& findings) {
    const std::string plain = lower_case(text);
    for (const std::string& word : words) {
        // Few lines have the word at all, and the names are slow to take out.
        if (has_phrase(plain, word) && has_phrase(without_names(plain), word)) {
            findings.push_back(where + " says \"" + word + "\"");
        }
    }
}

void find_in_cpp(const std::string& path, const std::string& text,
                 const std::vector<std::string>& words, Findings& findings) {
    const auto comments = comments_of(text);
    for (std::size_t i = 0; i < comments.size(); ++i) {
        find_words(place(path, i), comments[i], words, findings);
    }
    for (const auto& [line, literal] : string_literals(text)) {
        if (literal.find(' ') == std::string::npos) continue;
        find_words(place(path, line), literal, words, findings);
    }
}

void find_in_sql(const std::string& path, const std::string& text,
                 const std::vector<std::string>& words, Findings& findings) {
    const auto lines = lines_of(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto begin = lines[i].find("--");
        if (begin != std::string::npos) {
            find_words(place(path, i), lines[i].substr(begin), words, findings);
        }
    }
}

// What stands between ``` is code.
void find_in_page(const std::string& path, const std::string& text,
                  const std::vector<std::string>& words, Findings& findings) {
    const auto lines = lines_of(text);
    bool code = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].find("```") != std::string::npos) code = !code;
        if (!code) find_words(place(path, i), lines[i], words, findings);
    }
}

// The rule's own test holds words to avoid. Migrations are not changed once they have been applied.
bool exempt(const std::string& path) {
    return within(path, "schemas/migrations") || within(path, "third_party") ||
           path == "tests/tidy/word_rules_test.cc";
}

}  // namespace

Findings words_to_avoid(const Tree& tree) {
    const std::vector<std::string> words = listed(tree);
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (exempt(path)) continue;
        if (is_cpp(path)) find_in_cpp(path, text, words, findings);
        if (path.ends_with(".sql")) find_in_sql(path, text, words, findings);
        if (path.ends_with(".md")) find_in_page(path, text, words, findings);
    }
    return findings;
}

Findings fragments(const Tree& tree) {
    static const std::regex begins(R"(^\s*(//|--) Of .*)");
    static const std::regex goes_on(R"(^\s*(//|--) .*)");
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (exempt(path) || (!is_cpp(path) && !path.ends_with(".sql"))) continue;
        const auto lines = lines_of(text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const bool first = i == 0 || !std::regex_match(lines[i - 1], goes_on);
            if (first && std::regex_match(lines[i], begins)) findings.push_back(place(path, i));
        }
    }
    return findings;
}

}  // namespace onceward::tidy
