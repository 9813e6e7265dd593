#pragma once
// Collects what is wrong with a file while it is read, and the place of each option in it. Used by
// one thread.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/configuration/load.h"

namespace onceward {

// What messages show of a text in the place of a name: the name that it begins with, and `...` for
// the rest. Somebody may have written `dsn=postgresql://...` there, which may hold a password.
// `marks`: what a name may have in addition to letters and digits.
std::string leading_name(std::string_view text, std::string_view marks = "._-");

class Report {
  public:
    // Returns nullopt, which is what a reader returns then.
    std::nullopt_t error(Mark mark, const std::string& path, std::string message) {
        failed_.insert(path);
        add(Finding::Severity::error, mark, path, std::move(message));
        return std::nullopt;
    }
    void warning(Mark mark, const std::string& path, std::string message) {
        add(Finding::Severity::warning, mark, path, std::move(message));
    }
    // At the option's place, or at the nearest part of the file around it that exists. Silent if
    // the option itself has an error already: it holds no value that could be judged.
    void error_at(const std::string& path, std::string message) {
        if (known(path)) error(mark_of(path), path, std::move(message));
    }
    void warning_at(const std::string& path, std::string message) {
        if (known(path)) warning(mark_of(path), path, std::move(message));
    }
    void locate(const std::string& path, Mark mark) { marks_[path] = mark; }
    // What is wrong with this part of the file was said: it is not judged, nor is what is in it.
    void settle(const std::string& path) { settled_.insert(path); }
    // The option is there but its value cannot be known (an unset variable).
    void unknown(const std::string& path) {
        failed_.insert(path);
        unknown_.insert(path);
    }

    bool given(const std::string& path) const { return marks_.contains(path); }
    // Whether the option's value, given or default, may be judged.
    bool known(const std::string& path) const;
    const std::set<std::string>& unknown() const { return unknown_; }
    Mark mark_of(std::string path) const;

    std::vector<Finding> sorted() const;

  private:
    void add(Finding::Severity severity, Mark mark, const std::string& path, std::string message) {
        findings_.push_back({severity, mark, leading_name(path, "._-[]"), std::move(message)});
    }

    std::vector<Finding> findings_;
    std::set<std::string> failed_;
    std::set<std::string> unknown_;
    std::set<std::string> settled_;
    std::map<std::string, Mark> marks_;
};

}  // namespace onceward
