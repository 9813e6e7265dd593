#include "tests/faults/checker/report.h"

#include <nlohmann/json.hpp>
#include <sstream>

namespace onceward::checker {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Violations& violations) {
    ordered_json list = ordered_json::array();
    for (const Violation& violation : violations) {
        list.push_back({{"invariant", violation.invariant},
                        {"text", violation.text},
                        {"count", violation.count},
                        {"where", violation.where}});
    }
    return list;
}

}  // namespace

std::string json_report(const Verdict& verdict) {
    const Numbers& numbers = verdict.numbers;
    const ordered_json report{{"messages", numbers.messages},
                              {"keys", numbers.keys},
                              {"applied", numbers.applied},
                              {"duplicates", numbers.duplicates},
                              {"conflicts", numbers.conflicts},
                              {"dead_letters", numbers.dead_letters},
                              {"skipped", numbers.skipped},
                              {"lost", numbers.lost},
                              {"twice", numbers.twice},
                              {"requests", numbers.requests},
                              {"violations", json_of(verdict.violations)},
                              {"problems", verdict.problems},
                              {"unchecked", verdict.unchecked}};
    return report.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

std::string json_report(const SampleReport& report) {
    const ordered_json json{{"offset_samples", report.offset_samples},
                            {"owner_samples", report.owner_samples},
                            {"resource_samples", report.resource_samples},
                            {"unanswered", report.unanswered},
                            {"violations", json_of(report.violations)}};
    return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

std::string summary(const Verdict& verdict) {
    const Numbers& numbers = verdict.numbers;
    std::ostringstream text;
    text << numbers.messages << " messages, " << numbers.keys << " keys: " << numbers.applied
         << " applied, " << numbers.duplicates << " duplicates, " << numbers.conflicts
         << " conflicts, " << numbers.dead_letters << " dead letters, " << numbers.skipped
         << " skipped; " << numbers.lost << " lost, " << numbers.twice << " twice\n";
    for (const Violation& violation : verdict.violations) {
        text << violation.invariant << ": " << violation.text << " (" << violation.count << ")\n";
        for (const std::string& where : violation.where) text << "    " << where << "\n";
    }
    for (const std::string& problem : verdict.problems) text << "no evidence: " << problem << "\n";
    for (const std::string& part : verdict.unchecked) text << "not checked: " << part << "\n";
    return text.str();
}

int exit_code(const Verdict& verdict) {
    if (!verdict.violations.empty()) return 1;
    return verdict.problems.empty() ? 0 : 2;
}

}  // namespace onceward::checker
