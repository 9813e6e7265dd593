#include "dedup/postgres/error.h"

#include "dedup/base/expects.h"

namespace onceward {
namespace {

std::string describe(const PostgresError::Diagnosis& diagnosis) {
    // A failed connect has no SQLSTATE; libpq's text says everything.
    std::string text = diagnosis.sqlstate.empty() ? "" : "SQLSTATE " + diagnosis.sqlstate + ": ";
    text += diagnosis.message;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    if (text.empty()) text = "connection lost";
    if (diagnosis.in_doubt) text += " (the outcome of COMMIT is in doubt)";
    return text;
}

// In one line.
std::string flat(const std::string& message) {
    std::string line;
    for (const char c : message) {
        const bool blank = c == '\n' || c == '\t' || c == ' ';
        if (!blank) {
            line += c;
        } else if (!line.empty() && line.back() != ' ') {
            line += ' ';
        }
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

bool quotes_no_value(const std::string& sqlstate) {
    const std::string code_class = sqlstate.substr(0, 2);
    return sqlstate.empty() || code_class == "42" || code_class == "28" || code_class == "3D";
}

}  // namespace

PostgresError::PostgresError(Diagnosis diagnosis, const std::source_location& where)
    : std::runtime_error(describe(diagnosis)), diagnosis_(std::move(diagnosis)), where_(where) {}

std::string PostgresError::summary() const {
    std::string text = diagnosis_.sqlstate;
    const std::string words = flat(diagnosis_.message);
    if (quotes_no_value(text) && !words.empty()) text += (text.empty() ? "" : ": ") + words;
    if (text.empty()) text = "connection lost";
    if (!diagnosis_.constraint.empty()) text += ", constraint " + diagnosis_.constraint;
    if (!diagnosis_.column.empty()) text += ", column " + diagnosis_.column;
    if (diagnosis_.in_doubt) text += ", commit in doubt";
    return text + ", at " + place_of(where_);
}

void try_again(const char* why, const std::source_location& where) {
    throw PostgresError({.sqlstate = "40001", .message = why}, where);
}

}  // namespace onceward
