#include "dedup/postgres/error.h"

namespace onceward {
namespace {

std::string describe(const PostgresError::Diagnosis& diagnosis) {
    std::string text =
        diagnosis.sqlstate.empty() ? "no SQLSTATE" : "SQLSTATE " + diagnosis.sqlstate;
    text += ": " + diagnosis.message;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    if (diagnosis.in_doubt) text += " (the outcome of COMMIT is in doubt)";
    return text;
}

}  // namespace

PostgresError::PostgresError(Diagnosis diagnosis)
    : std::runtime_error(describe(diagnosis)), diagnosis_(std::move(diagnosis)) {}

std::string PostgresError::summary() const {
    std::string text = diagnosis_.sqlstate.empty() ? "connection lost" : diagnosis_.sqlstate;
    if (!diagnosis_.constraint.empty()) text += ", constraint " + diagnosis_.constraint;
    if (!diagnosis_.column.empty()) text += ", column " + diagnosis_.column;
    if (diagnosis_.in_doubt) text += ", commit in doubt";
    return text;
}

void try_again(const char* why) {
    throw PostgresError(
        {.sqlstate = "40001", .message = why, .constraint = {}, .column = {}, .routine = {}});
}

}  // namespace onceward
