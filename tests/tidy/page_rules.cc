#include "tests/tidy/page_rules.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace onceward::tidy {
namespace {

std::set<std::string> matches(const std::string& text, const std::regex& expression) {
    std::set<std::string> found;
    for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end;
         ++match) {
        found.insert((*match)[1]);
    }
    return found;
}

void compare_names(const std::set<std::string>& real, const std::set<std::string>& listed,
                   const std::string& page, Findings& findings) {
    for (const std::string& name : real) {
        if (!listed.contains(name)) findings.push_back(page + " lacks " + name);
    }
    for (const std::string& name : listed) {
        if (!real.contains(name)) findings.push_back("only " + page + " has " + name);
    }
}

}  // namespace

Findings event_differences(const Tree& tree) {
    static const std::regex event(R"re(\blog(?:_(?:debug|info|warning|error)\(|\([A-Za-z_:]+,))re"
                                  R"re(\s*"([a-z_]+(?:\.[a-z_]+)?)")re");
    std::set<std::string> real;
    for (const auto& [path, text] : tree) {
        if (in_product(path)) real.merge(matches(text, event));
    }
    std::set<std::string> listed;
    for (const auto& row : table_under(content(tree, "docs/events.md"), "Events")) {
        for (const std::string& name : quoted(row.at(0))) listed.insert(name);
    }
    Findings findings;
    compare_names(real, listed, "docs/events.md", findings);
    return findings;
}

Findings runbook_differences(const Tree& tree) {
    static const std::regex alert(R"(- alert: (\w+))");
    static const std::regex heading(R"(\n## (\w+)\n)");
    static const std::regex link(R"(runbook_url: \S+/docs/runbooks\.md#(\w+))");
    const std::string rules = content(tree, "docs/alerts.yaml");
    const std::set<std::string> alerts = matches(rules, alert);
    Findings findings;
    compare_names(alerts, matches(content(tree, "docs/runbooks.md"), heading), "docs/runbooks.md",
                  findings);
    // A heading's anchor is its text in lower case.
    std::set<std::string> anchors;
    for (std::string name : alerts) {
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
        anchors.insert(name);
    }
    compare_names(anchors, matches(rules, link), "the runbook_urls of docs/alerts.yaml", findings);
    return findings;
}

}  // namespace onceward::tidy
