#include "tests/tidy/layer_rules.h"

#include <algorithm>
#include <regex>

namespace onceward::tidy {
namespace {

const std::map<std::string, int> heights{{"schemas", 0},  {"clients", 0}, {"dedup", 1},
                                         {"consumer", 2}, {"sinks", 2},   {"gateway", 2},
                                         {"cli", 3},      {"lab", 4}};

constexpr const char* checker = "tests/faults/checker";

// Neighbours of one height do not know each other either.
bool may_know(const std::string& from, const std::string& to) {
    if (from == to) return true;
    const auto source = heights.find(from);
    if (source == heights.end()) return true;
    const auto target = heights.find(to);
    if (target == heights.end()) return to != "tests" && to != "examples" && to != "bench";
    return source->second > target->second;
}

struct NamespaceType {
    std::size_t line = 0;
    std::string scope;  // the named namespaces, and the type
    bool anonymous = false;
};

// As clang-format leaves them: nothing in a namespace is indented, and its end says what it is.
std::vector<NamespaceType> types_of(const std::string& text) {
    static const std::regex scope(R"(namespace ?([\w:]*) ?\{)");
    static const std::regex type(
        R"((?:class|struct|union|enum class|enum|using) (?:\[\[\w+\]\] )?(\w+)(?: final)?)"
        R"((?:;| [:{=]).*)");
    std::vector<std::string> scopes;
    std::vector<NamespaceType> types;
    const auto lines = lines_of(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::smatch match;
        if (std::regex_match(lines[i], match, scope)) {
            scopes.push_back(match[1]);
        } else if (lines[i].starts_with("}  // namespace") && !scopes.empty()) {
            scopes.pop_back();
        } else if (std::regex_match(lines[i], match, type)) {
            NamespaceType found{i, "", false};
            for (const std::string& name : scopes) {
                found.anonymous = found.anonymous || name.empty();
                if (!name.empty()) found.scope += name + "::";
            }
            found.scope += match[1];
            types.push_back(std::move(found));
        }
    }
    return types;
}

}  // namespace

Findings types_hidden(const Tree& tree) {
    std::multimap<std::string, std::string> declared;  // in headers of the product -> where
    for (const auto& [path, text] : tree) {
        if (!is_header(path) || !heights.contains(top_folder(path))) continue;
        for (const NamespaceType& type : types_of(text)) {
            if (!type.anonymous) declared.emplace(type.scope, path);
        }
    }
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!is_cpp(path) || !heights.contains(top_folder(path))) continue;
        for (const NamespaceType& type : types_of(text)) {
            const auto [begin, end] = declared.equal_range(type.scope);
            const auto hidden = std::find_if(begin, end, [&, &path = path](const auto& header) {
                return may_know(top_folder(path), top_folder(header.second));
            });
            if (!type.anonymous || hidden == end) continue;
            findings.push_back(place(path, type.line) + " hides " + type.scope + " of " +
                               hidden->second);
        }
    }
    return findings;
}

Findings backward_includes(const Tree& tree) {
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!is_cpp(path)) continue;
        const auto lines = lines_of(text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (!lines[i].starts_with("#include \"")) continue;
            const std::string included = lines[i].substr(10, lines[i].rfind('"') - 10);
            if (!may_know(top_folder(path), top_folder(included))) {
                findings.push_back(place(path, i) + " includes " + included);
            }
        }
    }
    return findings;
}

Findings backward_links(const Tree& tree) {
    static const std::regex made(R"(onceward_library\((\w+))");
    static const std::regex named(R"(onceward_(\w+))");
    std::map<std::string, std::string> folders;  // library -> where it is made
    for (const auto& [path, text] : tree) {
        if (file_name(path) != "CMakeLists.txt") continue;
        for (std::sregex_iterator match(text.begin(), text.end(), made), end; match != end;
             ++match) {
            folders[(*match)[1]] = top_folder(path);
        }
    }
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (file_name(path) != "CMakeLists.txt") continue;
        for (std::sregex_iterator match(text.begin(), text.end(), named), end; match != end;
             ++match) {
            const auto library = folders.find((*match)[1]);
            if (library != folders.end() && !may_know(top_folder(path), library->second)) {
                findings.push_back(path + " links onceward_" + library->first);
            }
        }
    }
    return findings;
}

Findings kafka_headers_elsewhere(const Tree& tree) {
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!is_cpp(path) || within(path, "consumer") || within(path, "tests/support") ||
            within(path, "tests/unit/consumer") || within(path, checker)) {
            continue;
        }
        const auto lines = lines_of(text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (lines[i].starts_with("#include") && lines[i].find("rdkafka") != std::string::npos) {
                findings.push_back(place(path, i) + " includes librdkafka");
            }
        }
    }
    return findings;
}

Findings sinks_named_elsewhere(const Tree& tree) {
    static const std::regex derived(R"(class (\w+)(?: final)? : public Sink\b)");
    std::set<std::string> sinks;
    for (const auto& [path, text] : tree) {
        if (!within(path, "sinks") || text.find(": public Sink") == std::string::npos) continue;
        for (std::sregex_iterator match(text.begin(), text.end(), derived), end; match != end;
             ++match) {
            sinks.insert((*match)[1]);
        }
    }
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!is_cpp(path) || within(path, "sinks") || within(path, "tests") ||
            path == "cli/composition/composition.cc" || within(path, "examples")) {
            continue;
        }
        const std::string code = code_of(text, Literals::blank);
        for (const std::string& sink : sinks) {
            if (has_word(code, sink)) findings.push_back(path + " names " + sink);
        }
    }
    return findings;
}

Findings checker_dependencies(const Tree& tree) {
    static const std::regex library(R"(\bonceward(::|_)(\w+))");
    static const std::set<std::string> own{"checker", "library", "compile_options", "embed"};
    Findings findings;
    for (const auto& [path, text] : tree) {
        const bool inside = within(path, checker);
        const auto lines = lines_of(text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (is_cpp(path) && inside && lines[i].starts_with("#include") &&
                (lines[i].find('/') != std::string::npos || lines[i].find('"') < lines[i].size())) {
                const bool known = lines[i].starts_with("#include \"tests/faults/checker/") ||
                                   lines[i].starts_with("#include <sys/") ||
                                   lines[i].starts_with("#include <librdkafka/") ||
                                   lines[i].starts_with("#include <nlohmann/") ||
                                   lines[i].starts_with("#include <openssl/");
                if (!known) findings.push_back(place(path, i) + " has " + lines[i]);
            }
            if (file_name(path) != "CMakeLists.txt") continue;
            // Its sources and libraries stand in its own folder alone.
            if (!inside && lines[i].find("(onceward_checker ") != std::string::npos) {
                findings.push_back(place(path, i) + " adds to onceward_checker");
            }
            const std::string code = lines[i].substr(0, lines[i].find('#'));
            for (std::sregex_iterator match(code.begin(), code.end(), library), end;
                 inside && match != end; ++match) {
                if (!own.contains((*match)[2])) {
                    findings.push_back(place(path, i) + " names " + match->str());
                }
            }
        }
    }
    return findings;
}

Findings classes_spread(const Tree& tree) {
    static const std::regex method(R"((?:^|[ &*])((?:\w+::)+)~?\w+\(.*)");
    std::map<std::string, std::set<std::string>> files;  // the class with its scopes -> files
    for (const auto& [path, text] : tree) {
        if (!in_product(path) || !path.ends_with(".cc")) continue;
        for (const std::string& line : lines_of(text)) {
            std::smatch found;
            const bool definition = !line.empty() && std::isalpha(line.front()) != 0 &&
                                    line.find(';') == std::string::npos;
            const std::string head = line.substr(0, line.find('(') + 1);
            if (!definition || !std::regex_search(head, found, method)) continue;
            files[found[1]].insert(path);
        }
    }
    Findings findings;
    for (const auto& [name, places] : files) {
        const bool is_class = std::isupper(name.front()) != 0;
        if (!is_class || places.size() <= 3) continue;
        findings.push_back(name.substr(0, name.size() - 2) + " has methods in " +
                           std::to_string(places.size()) + " files");
    }
    return findings;
}

}  // namespace onceward::tidy
