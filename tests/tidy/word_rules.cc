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
    const std::string plain = lower_case(without_names(text));
    for (const std::string& word : words) {
        if (has_phrase(plain, word)) findings.push_back(where + " says \"" + word + "\"");
    }
}

}  // namespace

Findings words_to_avoid(const Tree& tree) {
    const std::vector<std::string> words = listed(tree);
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!in_product(path) && !within(path, "clients/cpp")) continue;
        const auto comments = comments_of(text);
        for (std::size_t i = 0; i < comments.size(); ++i) {
            find_words(place(path, i), comments[i], words, findings);
        }
        for (const auto& [line, literal] : string_literals(text)) {
            if (literal.find(' ') == std::string::npos) continue;
            find_words(place(path, line), literal, words, findings);
        }
    }
    return findings;
}

Findings fragments(const Tree& tree) {
    static const std::regex begins(R"(^\s*// Of .*)");
    static const std::regex goes_on(R"(^\s*// .*)");
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!in_product(path) && !within(path, "clients/cpp")) continue;
        const auto lines = lines_of(text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const bool first = i == 0 || !std::regex_match(lines[i - 1], goes_on);
            if (first && std::regex_match(lines[i], begins)) findings.push_back(place(path, i));
        }
    }
    return findings;
}

}  // namespace onceward::tidy
