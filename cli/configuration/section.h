#pragma once
// A part of the file, such as `topics[0].ledger`, as checks see it: what is given there, and where
// a finding about it belongs. It borrows the report. Used by one thread.

#include <initializer_list>
#include <string>

#include "cli/configuration/report.h"

namespace onceward {

class Section {
  public:
    Section(Report& report, std::string path) : report_(report), path_(std::move(path)) {}
    // A part of this part.
    Section at(const std::string& name) const { return {report_, path(name)}; }

    // The whole file.
    Section top() const { return {report_, ""}; }

    std::string path(const std::string& name = "") const {
        return path_.empty() || name.empty() ? path_ + name : path_ + "." + name;
    }
    bool given(const std::string& name = "") const { return report_.given(path(name)); }
    bool known(const std::string& name = "") const { return report_.known(path(name)); }
    // The first of two options if it is given, else the second: the one to blame for both.
    std::string given_of(const std::string& first, const std::string& second) const {
        return given(first) ? first : second;
    }

    // `option` is below this part; '' is the part itself.
    void error(const std::string& option, const std::string& message) const {
        report_.error_at(path(option), message);
    }
    void warning(const std::string& option, const std::string& message) const {
        report_.warning_at(path(option), message);
    }

    // What may not be: each rule that is broken is an error, in their order.
    struct Rule {
        bool broken;
        std::string option;
        std::string message;
    };
    void check(std::initializer_list<Rule> rules) const {
        for (const Rule& rule : rules) {
            if (rule.broken) error(rule.option, rule.message);
        }
    }
    // Options that have no meaning here.
    void refuse(std::initializer_list<const char*> options, const std::string& message) const {
        for (const char* option : options) {
            if (given(option)) error(option, message);
        }
    }

  private:
    Report& report_;
    std::string path_;
};

}  // namespace onceward
