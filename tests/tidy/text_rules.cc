#include "tests/tidy/text_rules.h"

#include <algorithm>
#include <regex>

namespace onceward::tidy {
namespace {

constexpr std::size_t most_lines = 400;
constexpr std::ptrdiff_t most_columns = 100;
constexpr std::size_t most_function_lines = 69;

// Written by a program, or by others.
bool is_given(std::string_view path) {
    return path == "schemas/config.schema.json" || path == "LICENSE" || path.ends_with("/go.sum") ||
           path.ends_with("/package-lock.json") || path.ends_with("/avro/samples.json") ||
           path.ends_with("/avro/make_samples.py") || path.ends_with(".ndjson") ||
           path == "deploy/kubernetes/monitoring.yaml" ||
           (within(path, "deploy/grafana") && path.ends_with(".json"));
}

// Prose has tables, a broken configuration the whole sentence that it must lead to, what the
// program says is as it says it, and the inbox's cases have a line for each step.
bool is_code(std::string_view path) {
    return !is_given(path) && !path.ends_with(".md") && !within(path, "tests/configs") &&
           !within(path, "tests/unit/cli/golden") && path != "inbox/cases.json";
}

// The blocks of a C++ text, where only namespaces and types stand around.
class FunctionFinder {
  public:
    explicit FunctionFinder(const std::string& code) : code_(code) {}

    // First line and number of lines of each function.
    std::vector<std::pair<std::size_t, std::size_t>> find() {
        std::size_t header = 0;  // where the text since the last ; { } begins
        std::size_t line = 0;
        for (std::size_t at = 0; at < code_.size(); ++at) {
            switch (code_[at]) {
                case '\n': ++line; continue;
                case '{': open(code_.substr(header, at - header), line); break;
                case '}': close(line); break;
                case ';': break;
                default: continue;
            }
            header = at + 1;
        }
        return std::move(found_);
    }

  private:
    enum class Kind { scope, function, other };
    struct Block {
        Kind kind;
        std::size_t line;
    };

    void open(const std::string& header, std::size_t line) {
        static const std::regex scope(R"(\b(namespace|class|struct|union|enum|extern)\b)");
        const bool outside = std::ranges::all_of(
            blocks_, [](const Block& block) { return block.kind == Kind::scope; });
        Kind kind = Kind::other;
        if (outside && header.find('(') != std::string::npos) {
            kind = Kind::function;
        } else if (outside && std::regex_search(header, scope)) {
            kind = Kind::scope;
        }
        const auto first = header.find_first_not_of(" \n");
        const std::string_view rest =
            std::string_view(header).substr(first == std::string::npos ? header.size() : first);
        blocks_.push_back({kind, line - static_cast<std::size_t>(std::ranges::count(rest, '\n'))});
    }

    void close(std::size_t line) {
        if (blocks_.empty()) return;
        if (blocks_.back().kind == Kind::function) {
            found_.emplace_back(blocks_.back().line, line - blocks_.back().line + 1);
        }
        blocks_.pop_back();
    }

    const std::string& code_;
    std::vector<Block> blocks_;
    std::vector<std::pair<std::size_t, std::size_t>> found_;
};

std::string without_directives(const std::string& code) {
    std::string kept;
    for (const std::string& line : lines_of(code)) {
        kept += (line.starts_with("#") ? "" : line) + "\n";
    }
    return kept;
}

}  // namespace

Findings long_files(const Tree& tree) {
    Findings findings;
    for (const auto& [path, text] : tree) {
        const std::size_t lines = lines_of(text).size();
        if (is_code(path) && lines > most_lines) {
            findings.push_back(path + " has " + std::to_string(lines) + " lines");
        }
    }
    return findings;
}

Findings long_lines(const Tree& tree) {
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!is_code(path)) continue;
        const auto lines = lines_of(text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            // An address at the end of a line cannot be broken.
            const auto address = lines[i].find("://");
            const bool begins = address < static_cast<std::size_t>(most_columns);
            if (begins && lines[i].find(' ', address) == std::string::npos) continue;
            // Bytes that continue a UTF-8 character take no column.
            const auto columns = std::ranges::count_if(
                lines[i], [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
            if (columns > most_columns) {
                findings.push_back(place(path, i) + " has " + std::to_string(columns) + " columns");
            }
        }
    }
    return findings;
}

Findings long_functions(const Tree& tree) {
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!is_cpp(path)) continue;
        const std::string code = without_directives(code_of(text, Literals::blank));
        for (const auto& [line, length] : FunctionFinder(code).find()) {
            if (length > most_function_lines) {
                findings.push_back(place(path, line) + " has " + std::to_string(length) + " lines");
            }
        }
    }
    return findings;
}

Findings unfinished_words(const Tree& tree) {
    // Put together, so that this file has none of them.
    static const std::vector<std::string> words{
        "TO"
        "DO",
        "FIX"
        "ME",
        "XX"
        "X",
        "HA"
        "CK"};
    Findings findings;
    for (const auto& [path, text] : tree) {
        for (const std::string& word : words) {
            if (has_word(text, word)) findings.push_back(path + " says " + word);
        }
    }
    return findings;
}

Findings machine_paths(const Tree& tree) {
    static const std::regex folder(R"((^|["'`\s=(:])/(work|home|root|tmp|mnt|Users)(/|\b))");
    Findings findings;
    for (const auto& [path, text] : tree) {
        // It makes a system of its own, in which root has a home.
        if (path == "scripts/bare-root" || within(path, "tests/tidy")) continue;
        const auto lines = lines_of(text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (lines[i].find('/') == std::string::npos) continue;
            if (std::regex_search(lines[i], folder)) findings.push_back(place(path, i));
        }
    }
    return findings;
}

Findings foreign_addresses(const Tree& tree) {
    static const std::regex address(R"(https?://(?:[^/@\s]*@)?([A-Za-z0-9.-]+))");
    // The source of librdkafka, what a schema or a licence is named by, pages to read, and what
    // npm writes into a lock.
    static const std::set<std::string> known{"github.com",
                                             "json-schema.org",
                                             "www.apache.org",
                                             "keepachangelog.com",
                                             "semver.org",
                                             "masstransit.io",
                                             "docs.particular.net",
                                             "critterwatch.jasperfx.net",
                                             "docs.confluent.io",
                                             "docs.redpanda.com",
                                             "jasperfx-critterwatch.pages.dev",
                                             "docs.aws.amazon.com",
                                             "docs.redhat.com",
                                             "www.standardwebhooks.com",
                                             "www.w3.org",
                                             "opencollective.com",
                                             "localhost",
                                             "127.0.0.1"};
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (within(path, "tests/tidy") || text.find("://") == std::string::npos) continue;
        for (std::sregex_iterator match(text.begin(), text.end(), address), end; match != end;
             ++match) {
            const std::string host = (*match)[1];
            // RFC 2606 keeps these names for examples, and a name without a point is no public one.
            const bool reserved = host.starts_with("example.") || host.ends_with(".example") ||
                                  host.ends_with(".example.com");
            if (!known.contains(host) && !reserved && host.find('.') != host.npos) {
                findings.push_back(path + " names " + host);
            }
        }
    }
    return findings;
}

Findings headers_without_comment(const Tree& tree) {
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (is_header(path) && !text.starts_with("#pragma once\n//")) findings.push_back(path);
    }
    return findings;
}

}  // namespace onceward::tidy
