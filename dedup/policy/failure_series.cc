#include "dedup/policy/failure_series.h"

namespace onceward {

FailureAction FailureSeries::met(const PostgresError& error, Origin origin) {
    ++failures_;
    repeated_ = error.sqlstate() == sqlstate_ ? repeated_ + 1 : 0;
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
