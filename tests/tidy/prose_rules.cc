#include "tests/tidy/prose_rules.h"

#include <filesystem>
#include <regex>

namespace onceward::tidy {
namespace {

void compare(const std::set<std::string>& real, const std::set<std::string>& told,
             const std::string& what, Findings& findings) {
    for (const std::string& name : real) {
        if (!told.contains(name)) findings.push_back("the table lacks " + what + name);
    }
    for (const std::string& name : told) {
        if (!real.contains(name)) findings.push_back("the table alone has " + what + name);
    }
}

// The words of the bash arrays `..._packages=( ... )`.
std::set<std::string> installed_packages(const std::string& setup) {
    std::set<std::string> packages;
    bool inside = false;
    for (std::string line : lines_of(setup)) {
        const auto begin = line.find("_packages=(");
        if (begin != std::string::npos) {
            inside = true;
            line = line.substr(begin + 11);
        }
        if (!inside || line.find_first_not_of(' ') == line.find('#')) continue;
        const auto end = line.find(')');
        static const std::regex word(R"([a-z0-9][a-z0-9+.-]+)");
        const std::string part = line.substr(0, end);
        for (std::sregex_iterator match(part.begin(), part.end(), word), last; match != last;
             ++match) {
            packages.insert(match->str());
        }
        if (end != std::string::npos) inside = false;
    }
    return packages;
}

std::set<std::string> found_by_cmake(const Tree& tree) {
    static const std::regex found(R"((?:find_package|onceward_find)\((\w[\w-]*))");
    std::set<std::string> names;
    const std::string text = content(tree, "CMakeLists.txt");
    for (std::sregex_iterator match(text.begin(), text.end(), found), end; match != end; ++match) {
        names.insert((*match)[1]);
    }
    names.erase("Threads");  // Part of the system.
    return names;
}

}  // namespace

Findings folder_table_differences(const Tree& tree) {
    std::set<std::string> real;
    for (const auto& [path, text] : tree) {
        if (path.find('/') != std::string::npos) real.insert(top_folder(path) + "/");
    }
    std::set<std::string> told;
    for (const auto& row : table_under(content(tree, "docs/architecture.md"), "Folders")) {
        for (const std::string& name : quoted(row.at(0))) told.insert(name);
    }
    Findings findings;
    compare(real, told, "", findings);
    return findings;
}

// Columns: need, part, why, licence, Debian packages, CMake's names.
Findings dependency_table_differences(const Tree& tree) {
    std::set<std::string> packages;
    std::set<std::string> names;
    for (const auto& row : table_under(content(tree, "docs/dependencies.md"), "Dependencies")) {
        for (const std::string& name : quoted(row.at(4))) packages.insert(name);
        for (const std::string& name : quoted(row.at(5))) names.insert(name);
    }
    Findings findings;
    compare(installed_packages(content(tree, "scripts/setup")), packages, "package ", findings);
    compare(found_by_cmake(tree), names, "CMake's ", findings);
    return findings;
}

Findings dead_links(const Tree& tree) {
    static const std::regex link(R"(\]\(([^)#\s]+)[^)]*\))");
    static const std::regex named(R"(`([a-z_]+/[\w/.-]+\.(?:cc|h|sql|proto|json|md))`)");
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!path.ends_with(".md")) continue;
        for (std::sregex_iterator match(text.begin(), text.end(), link), end; match != end;
             ++match) {
            const std::string target = (*match)[1];
            if (target.find("://") != std::string::npos) continue;
            const std::string file = (std::filesystem::path(path).parent_path() / target)
                                         .lexically_normal()
                                         .generic_string();
            if (!tree.contains(file)) findings.push_back(path + " links to " + target);
        }
        for (std::sregex_iterator match(text.begin(), text.end(), named), end; match != end;
             ++match) {
            if (!tree.contains((*match)[1])) findings.push_back(path + " names " + match->str());
        }
    }
    return findings;
}

std::string configuration_example(const Tree& tree, const std::string& page) {
    const std::string text = content(tree, page);
    const auto begin = text.find("```yaml\n");
    if (begin == std::string::npos) return "";
    const auto first = begin + 8;
    return text.substr(first, text.find("```", first) - first);
}

}  // namespace onceward::tidy
