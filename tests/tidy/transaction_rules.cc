#include "tests/tidy/transaction_rules.h"

#include <regex>

namespace onceward::tidy {
namespace {

// The inbox's packages only call the schema's functions, in their own languages.
bool is_product(std::string_view path) {
    return is_cpp(path) && !within(path, "tests") && !within(path, "examples") &&
           !within(path, "inbox");
}

}  // namespace

Findings sql_in_code(const Tree& tree) {
    static const std::regex statement(
        R"(^\s*(SELECT|INSERT INTO|DELETE FROM|UPDATE [\w{"]+|CREATE|DROP|ALTER|TRUNCATE|)"
        R"(WITH|COPY|)"
        R"(LOCK TABLE|SET|SHOW|GRANT|REVOKE|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|DEALLOCATE)\b)");
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!is_product(path)) continue;
        for (const auto& [line, literal] : string_literals(text)) {
            std::smatch match;
            if (std::regex_search(literal, match, statement)) {
                findings.push_back(path + ": " + match[1].str());
            }
        }
    }
    return findings;
}

Findings transaction_openers(const Tree& tree) {
    static const std::regex opened(R"(\bOwnedTransaction\s+\w+\s*[({;]|<OwnedTransaction>\()");
    Findings openers;
    for (const auto& [path, text] : tree) {
        if (!is_product(path) || text.find("OwnedTransaction") == std::string::npos) continue;
        if (std::regex_search(code_of(text, Literals::blank), opened)) openers.push_back(path);
    }
    return openers;
}

Findings offset_committers(const Tree& tree) {
    static const std::regex called(R"((\.|->)commit_through\()");
    Findings committers;
    for (const auto& [path, text] : tree) {
        if (!is_product(path) || text.find("commit_through") == std::string::npos) continue;
        if (std::regex_search(code_of(text, Literals::blank), called)) committers.push_back(path);
    }
    return committers;
}

}  // namespace onceward::tidy
