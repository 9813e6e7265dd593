#include "dedup/base/logging.h"
#include "gateway/to_upstream/upstream_session.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

ConnectionOptions status_session(ConnectionOptions options) {
    options.application_name += " status";
    return options;
}

}  // namespace

UpstreamStatus::UpstreamStatus(const UpstreamRequestOptions& options)
    : options_(options),
      session_({.connection = status_session(options.postgres),
                .forget = [this] { results_.reset(); }}) {}

std::optional<std::vector<StatusOutcome>> UpstreamStatus::look(const std::vector<Digest>& keys) {
    const bool new_session = !session_;
    std::optional<std::vector<StatusOutcome>> known = read(keys);
    // A session that was not used for long may be gone.
    if (!known && !new_session) known = read(keys);
    return known;
}

std::optional<std::vector<StatusOutcome>> UpstreamStatus::read(
    const std::vector<Digest>& keys) try {
    session_.open();
    return statuses(keys);
} catch (const std::exception& error) {
    log_warning("http.look_failed", {{"route", options_.name}, {"error", error.what()}});
    session_.end();
    return std::nullopt;
}

std::vector<StatusOutcome> UpstreamStatus::statuses(const std::vector<Digest>& keys) {
    const QueryResult rows =
        session_->query(sql::lease_status, Parameters{}.text(options_.ledger.name).digests(keys));
    std::vector<StatusOutcome> known(keys.size());
    std::vector<Digest> ended;
    std::vector<std::size_t> places;
    for (int row = 0; row < rows.rows(); ++row) {
        const auto place = static_cast<std::size_t>(rows.integer(row, 0) - 1);
        const LeaseSeen lease{.in_flight = rows.integer(row, 1) == 1,
                              .left = std::chrono::milliseconds(rows.integer(row, 2)),
                              .status = static_cast<int>(rows.integer(row, 3))};
        known[place] = status_of_lease(lease);
        if (lease.in_flight) continue;
        ended.push_back(keys[place]);
        places.push_back(place);
    }
    if (ended.empty()) return known;
    // Read after the leases: an answer is committed together with its lease's end, so one that is
    // missing here was there and is gone.
    if (!results_) {
        results_ = std::make_unique<ResultStore>(static_cast<int>(rows.integer(0, 4)),
                                                 options_.ledger.store);
    }
    const auto answers = results_->get(*session_, ended);
    for (std::size_t i = 0; i < ended.size(); ++i) {
        if (!answers[i]) known[places[i]] = Problem{.kind = ProblemKind::answer_gone};
    }
    return known;
}

}  // namespace onceward
