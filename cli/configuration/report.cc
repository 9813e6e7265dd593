#include "cli/configuration/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace onceward {
namespace {

// The part of the file that holds this one.
std::string part_around(const std::string& path) {
    const std::size_t cut = path.find_last_of(".[");
    return path.substr(0, cut == std::string::npos ? 0 : cut);
}

}  // namespace

std::string leading_name(std::string_view text, std::string_view marks) {
    const auto of_name = [&](char c) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool more = static_cast<unsigned char>(c) >= 0x80;  // letters of other languages
        return letter || more || (c >= '0' && c <= '9') || marks.find(c) != std::string_view::npos;
    };
    const auto end = std::ranges::find_if_not(text, of_name);
    const std::string name(text.begin(), end);
    return end == text.end() ? name : name + "...";
}

bool Report::known(const std::string& path) const {
    for (std::string part = path; !part.empty(); part = part_around(part)) {
        if (settled_.contains(part)) return false;
    }
    return !failed_.contains(path);
}

Mark Report::mark_of(std::string path) const {
    for (; !path.empty(); path = part_around(path)) {
        if (const auto found = marks_.find(path); found != marks_.end()) return found->second;
    }
    return {1, 1};
}

std::vector<Finding> Report::sorted() const {
    std::vector<Finding> findings = findings_;
    std::ranges::stable_sort(findings, {}, [](const Finding& finding) {
        return std::pair(finding.mark.line, finding.mark.column);
    });
    return findings;
}

namespace {

const char* severity_text(Finding::Severity severity) {
    return severity == Finding::Severity::error ? "error" : "warning";
}

}  // namespace

std::string to_text(const Finding& finding, const std::string& file) {
    std::string text = file;
    if (finding.mark.line > 0) {
        text += ":" + std::to_string(finding.mark.line) + ":" + std::to_string(finding.mark.column);
    }
    text += std::string(": ") + severity_text(finding.severity) + ": ";
    if (!finding.path.empty()) text += finding.path + ": ";
    return text + finding.message;
}

std::string findings_json(const std::vector<Finding>& findings, const std::string& file) {
    auto list = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
        list.push_back({{"file", file},
                        {"line", finding.mark.line},
                        {"column", finding.mark.column},
                        {"severity", severity_text(finding.severity)},
                        {"path", finding.path},
                        {"message", finding.message}});
    }
    return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace onceward
