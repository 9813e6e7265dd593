#include "dedup/policy/failure.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dedup/base/mutants.h"

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
// Values and constraints, and also: no data, a CASE without a branch, a row that a command meets
// twice, cursors, SQL functions. A statement fails with these because of what some rows hold.
constexpr std::array<std::string_view, 13> data_classes{"22", "23", "44", "54", "P0", "38", "39",
                                                        "02", "20", "21", "24", "2F", "34"};

// What the user's own code says: PL/pgSQL and RAISE, external routines.
constexpr std::array<std::string_view, 3> users_own{"P0", "38", "39"};

// The SQL standard leaves some classes to implementations; these are the ones PostgreSQL uses.
constexpr std::array<std::string_view, 7> servers_own{"53", "54", "55", "57", "58", "P0", "XX"};
constexpr std::string_view snapshot_too_old = "72000";
// The routine that PostgreSQL reports for a RAISE of PL/pgSQL, and for nothing else.
constexpr std::string_view raise_statement = "exec_stmt_raise";

// The routine by which Citus passes on a worker's error: the SQLSTATE is the worker's, and the
// constraint's name is left out.
constexpr std::string_view citus_relay = "ReportResultError";

// A check violation without a constraint's name: there is no partition for the row. Citus leaves
// the name out of every error that it passes on, so the two look alike there. Such an error is
// taken for that of a CHECK.
bool lacks_partition(const PostgresError::Diagnosis& diagnosis) {
    return diagnosis.sqlstate == "23514" && diagnosis.constraint.empty() &&
           diagnosis.routine != citus_relay;
}

constexpr int internal_error_tries = 3;
// A function that raises 40001 or 55P03 asks for another try. One that does so for ever would hold
// up its topic or route.
constexpr int raised_tries = 8;

// A code of the user's own: its class begins with 5 to 9 or I to Z, which the SQL standard never
// uses.
bool of_the_user(std::string_view code) {
    if (code.size() != 5 || code == snapshot_too_old) return false;
    const bool free = (code[0] >= '5' && code[0] <= '9') || (code[0] >= 'I' && code[0] <= 'Z');
    return free && !among(code.substr(0, 2), servers_own);
}

}  // namespace

bool is_raised(const PostgresError::Diagnosis& diagnosis) {
    return diagnosis.routine == raise_statement && !diagnosis.connection_lost &&
           !diagnosis.in_doubt;
}

FailureAction classify(const PostgresError::Diagnosis& diagnosis, Origin origin, int earlier) {
    const std::string_view code = diagnosis.sqlstate;
    const std::string_view code_class = code.substr(0, 2);
    const bool raised =
        origin == Origin::sink && is_raised(diagnosis) && !mutant("own_sqlstate_stops_the_topic");
    if (raised && (!among(code, passing) || earlier >= raised_tries)) return FailureAction::reject;
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
        if (lacks_partition(diagnosis)) return FailureAction::stop;
        // Row level security refuses one row; a missing GRANT refuses them all.
        if (code == "42501" && diagnosis.routine == "ExecWithCheckOptions") {
            return FailureAction::reject;
        }
        if (among(code_class, data_classes)) return FailureAction::reject;
        if (of_the_user(code) && !mutant("own_sqlstate_stops_the_topic")) {
            return FailureAction::reject;
        }
    }
    return FailureAction::stop;
}

bool may_be_about_one(const PostgresError::Diagnosis& diagnosis) {
    const std::string& code = diagnosis.sqlstate;
    return code != "42501" && code != "23514" && !code.starts_with("XX");
}

bool may_pass(std::string_view sqlstate) {
    return sqlstate == "23503" || among(sqlstate.substr(0, 2), users_own) || of_the_user(sqlstate);
}

FailureAction FailureSeries::met(const PostgresError& error, Origin origin) {
    ++failures_;
    const bool raised = is_raised(error.diagnosis());
    const bool same = error.sqlstate() == sqlstate_ && raised == std::exchange(raised_, raised);
    repeated_ = same ? repeated_ + 1 : 0;
    sqlstate_ = error.sqlstate();
    return classify(error.diagnosis(), origin, repeated_);
}

void FailureSeries::ended() {
    sqlstate_.clear();
    repeated_ = 0;
    failures_ = 0;
}

FailureAction meaning_of(const PostgresError& error, Origin origin) {
    return FailureSeries().met(error, origin);
}

}  // namespace onceward
