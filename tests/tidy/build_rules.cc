#include "tests/tidy/build_rules.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <utility>

namespace onceward::tidy {
namespace {

// CMake's own comments name no source.
std::set<std::string> cmake_words(const std::string& text) {
    std::set<std::string> words;
    for (const std::string& line : lines_of(text)) {
        std::string word;
        for (const char c : line.substr(0, line.find('#')) + " ") {
            if (c == ' ' || c == '(' || c == ')' || c == '"') {
                words.insert(std::exchange(word, {}));
            } else {
                word += c;
            }
        }
    }
    return words;
}

// Folders whose SQL the build embeds, and the namespace of its names.
constexpr std::array<std::pair<const char*, const char*>, 3> embedded{
    {{"schemas/queries", "sql::"}, {"schemas/roles", "roles::"}, {"lab/queries", "lab_sql::"}}};

std::string stem(std::string_view path) {
    const std::string name = file_name(path);
    return name.substr(0, name.find('.'));
}

// Files that tools, hosts and readers look for by their names.
bool is_found_by_name(const std::string& path) {
    static const std::set<std::string> names{
        "README.md",  "CHANGELOG.md",  "CONTRIBUTING.md", "SECURITY.md",    "LICENSE",
        ".gitignore", ".clang-format", ".clang-tidy",     "CMakeLists.txt", "CMakePresets.json",
        "Makefile",   ".ci/run",       ".dockerignore"};
    // Folders that are read whole: by the build, by a test, by the host of the repository.
    static const std::array<std::string, 9> folders{
        "schemas/migrations",   "tests/configs",          ".github/workflows",
        "clients/python/tests", "clients/typescript/tests", "tests/linearizable",
        "inbox",                "tests/unit/cli/golden",  "deploy/helm/onceward/templates"};
    static const std::set<std::string> anywhere{"CMakeLists.txt", "pyproject.toml",
                                                "__init__.py",    "py.typed",
                                                "package.json",   "tsconfig.json"};
    return names.contains(path) || anywhere.contains(file_name(path)) ||
           std::ranges::any_of(folders, [&](const auto& folder) { return within(path, folder); });
}

std::vector<std::string> words_between_blanks(const std::string& line) {
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
}

// The files that are at their places under /source when the image's build runs scripts/setup.
std::set<std::string> copied_before_setup(const std::string& dockerfile) {
    std::set<std::string> copied;
    for (const std::string& line : lines_of(dockerfile)) {
        if (line.find("/source/scripts/setup ") != std::string::npos) break;
        const std::vector<std::string> words = words_between_blanks(line);
        if (words.size() < 3 || words.front() != "COPY") continue;
        for (std::size_t i = 1; i + 1 < words.size(); ++i) {
            if ("/source/" + words[i] == words.back() + file_name(words[i])) {
                copied.insert(words[i]);
            }
        }
    }
    return copied;
}

// By its path, or as a script names one in its own folder: "$(dirname "$0")/name".
bool script_names(const std::string& script, const std::string& path) {
    if (path.find('/') == std::string::npos) return false;
    if (script.find(path) != std::string::npos) return true;
    return within(path, "scripts") &&
           script.find("$(dirname \"$0\")/" + file_name(path)) != std::string::npos;
}

}  // namespace

Findings sources_not_built(const Tree& tree) {
    std::map<std::string, std::set<std::string>> lists;  // folder with its slash -> words
    for (const auto& [path, text] : tree) {
        if (file_name(path) != "CMakeLists.txt") continue;
        lists[path.substr(0, path.size() - file_name(path).size())] = cmake_words(text);
    }
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!path.ends_with(".cc")) continue;
        const bool built = std::ranges::any_of(lists, [&path = path](const auto& list) {
            return path.starts_with(list.first) &&
                   list.second.contains(path.substr(list.first.size()));
        });
        if (!built) findings.push_back(path);
    }
    return findings;
}

Findings queries_not_used(const Tree& tree) {
    std::string product;
    for (const auto& [path, text] : tree) {
        if (is_cpp(path) && !within(path, "tests")) product += code_of(text, Literals::blank);
    }
    Findings findings;
    for (const auto& [path, text] : tree) {
        for (const auto& [folder, scope] : embedded) {
            if (!within(path, folder)) continue;
            if (!has_word(product, std::string(scope) + stem(path))) findings.push_back(path);
        }
    }
    return findings;
}

Findings files_nobody_names(const Tree& tree) {
    const auto asked = [](const std::string& path) {
        return !path.ends_with(".cc") && !path.ends_with(".sql") && !is_found_by_name(path);
    };
    // Names of files that no other file has said so far.
    std::set<std::string> unnamed;
    for (const auto& [path, text] : tree) {
        if (asked(path) && !is_header(path)) unnamed.insert(file_name(path));
    }
    std::set<std::string> included;
    std::set<std::string> modules;
    for (const auto& [path, text] : tree) {
        std::erase_if(unnamed, [&path = path, &text = text](const std::string& name) {
            return name != file_name(path) && text.find(name) != std::string::npos;
        });
        for (const std::string& line : lines_of(text)) {
            if (line.starts_with("#include \"")) {
                const std::string header = line.substr(10, line.rfind('"') - 10);
                included.insert(header);
                included.insert(path.substr(0, path.rfind('/') + 1) + header);
            }
            // As in CMake's include(targets).
            const auto module = line.find("include(");
            if (module != std::string::npos && line.ends_with(")")) {
                modules.insert("cmake/" + line.substr(module + 8, line.size() - module - 9) +
                               ".cmake");
            }
        }
    }
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!asked(path)) continue;
        const bool named = is_header(path) ? included.contains(path)
                                           : !unnamed.contains(file_name(path)) ||
                                                 modules.contains(path);
        if (!named) findings.push_back(path);
    }
    return findings;
}

Findings files_the_first_layer_lacks(const Tree& tree) {
    std::set<std::string> needed{"scripts/setup"};
    // Without an indentation: whatever setup's argument is.
    for (const std::string& line : lines_of(content(tree, "scripts/setup"))) {
        if (!line.starts_with("./")) continue;
        const std::string script = "scripts/" + line.substr(2, line.find(' ') - 2);
        needed.insert(script);
        for (const auto& [path, text] : tree) {
            if (path != script && script_names(content(tree, script), path)) needed.insert(path);
        }
    }
    const std::set<std::string> copied = copied_before_setup(content(tree, "Dockerfile"));
    Findings findings;
    std::ranges::set_difference(needed, copied, std::back_inserter(findings));
    return findings;
}

Findings tests_switched_off(const Tree& tree) {
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!is_cpp(path) || !within(path, "tests")) continue;
        for (const std::string& word : words_of(code_of(text, Literals::blank))) {
            if (word.starts_with("DISABLED_") || word.find("_DISABLED_") != std::string::npos ||
                word == "GTEST_SKIP") {
                findings.push_back(path + " has " + word);
            }
        }
    }
    return findings;
}

Findings sleeping_tests(const Tree& tree) {
    static const std::array<std::string, 5> calls{"sleep_for", "sleep_until", "usleep", "nanosleep",
                                                  "sleep"};
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!is_cpp(path) || !within(path, "tests") || path == "tests/support/eventually.cc") {
            continue;
        }
        const std::string code = code_of(text, Literals::blank);
        for (const std::string& call : calls) {
            if (has_word(code, call)) findings.push_back(path + " calls " + call);
        }
    }
    return findings;
}

}  // namespace onceward::tidy
