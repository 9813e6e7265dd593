#include "dedup/failure.h"

#include <algorithm>
#include <array>

namespace onceward {
namespace {

template <std::size_t size>
bool among(std::string_view code, const std::array<std::string_view, size>& codes) {
    return std::ranges::find(codes, code) != codes.end();
}

constexpr std::array<std::string_view, 5> passing{"40001", "40P01", "55P03", "55006", "57014"};
// 57P01-05: the server is going away or dropped us; 25P03, 25P04: our own session limits; 26000: a
// prepared statement that the session no longer knows; 25006: a read-only server, so a fail-over.
constexpr std::array<std::string_view, 9> reconnecting{"57P01", "57P02", "57P03", "57P04", "57P05",
                                                       "25P03", "25P04", "26000", "25006"};
constexpr std::array<std::string_view, 3> reconnecting_classes{"08", "53", "58"};
constexpr std::array<std::string_view, 7> data_classes{"22", "23", "44", "54", "P0", "38", "39"};

// What the user's own code says: PL/pgSQL and RAISE, external routines.
constexpr std::array<std::string_view, 3> users_own{"P0", "38", "39"};

constexpr int internal_error_tries = 3;

}  // namespace

std::string_view to_text(FailureAction action) {
    switch (action) {
        case FailureAction::retry: return "retry";
        case FailureAction::reconnect: return "reconnect";
        case FailureAction::reject: return "reject";
        case FailureAction::stop: return "stop";
    }
    return "";
}

FailureAction classify(const PostgresError::Diagnosis& diagnosis, Origin origin, int earlier) {
    const std::string_view code = diagnosis.sqlstate;
    const std::string_view code_class = code.substr(0, 2);
    // A COPY that the server could not parse: the row layout is wrong, not the network.
    if (code == "08P01" && origin == Origin::sink && !diagnosis.connection_lost) {
        return FailureAction::stop;
    }
    if (diagnosis.in_doubt || diagnosis.connection_lost || code.empty()) {
        return FailureAction::reconnect;
    }
    if (among(code, passing)) return FailureAction::retry;
    if (code == "XX000") {
        return earlier < internal_error_tries ? FailureAction::retry : FailureAction::stop;
    }
    if (code == "0A000") return earlier == 0 ? FailureAction::reconnect : FailureAction::stop;
    if (among(code, reconnecting) || among(code_class, reconnecting_classes)) {
        return FailureAction::reconnect;
    }
    if (origin == Origin::sink) {
        // A check violation that no constraint's name goes with: no partition for the row.
        if (code == "23514" && diagnosis.constraint.empty()) return FailureAction::stop;
        // Row level security refuses one row; a missing GRANT refuses them all.
        if (code == "42501" && diagnosis.routine == "ExecWithCheckOptions") {
            return FailureAction::reject;
        }
        if (among(code_class, data_classes)) return FailureAction::reject;
    }
    return FailureAction::stop;
}

bool may_pass(std::string_view sqlstate) {
    return sqlstate == "23503" || among(sqlstate.substr(0, 2), users_own);
}

}  // namespace onceward
