#include "cli/admin/group_totals.h"

#include <algorithm>

#include "dedup/base/logging.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto wait_at_most = 1s;  // A scraper has a time-out of its own.
constexpr auto close_after = 60s;  // without a question
constexpr auto answer_within = 5s;
constexpr int letters_seldom = 6;     // times as long between two reads of the dead letters
constexpr int letters_rest = 99;      // times as long as they took to read
constexpr auto held_for_long = 300s;  // half a minute is usual

}  // namespace

using OpenByTopic = std::map<std::string, OpenLetters>;

void add(std::optional<DurableTotals>& sum, const std::optional<DurableTotals>& server) {
    if (!server) return;
    if (!sum) {
        sum = server;
        return;
    }
    for (const auto& [topic, totals] : server->topics) sum->topics[topic] += totals;
    sum->ledgers.insert(sum->ledgers.end(), server->ledgers.begin(), server->ledgers.end());
    sum->outbox.waiting += server->outbox.waiting;
    sum->outbox.oldest_seconds =
        std::max(sum->outbox.oldest_seconds, server->outbox.oldest_seconds);
    if (server->open_letters && !sum->open_letters) sum->open_letters.emplace();
    for (const auto& [topic, open] : server->open_letters.value_or(OpenByTopic{})) {
        OpenLetters& all = (*sum->open_letters)[topic];
        all.letters += open.letters;
        all.oldest_seconds = std::max(all.oldest_seconds, open.oldest_seconds);
        for (const auto& [name, letters] : open.by_class) all.by_class[name] += letters;
    }
    sum->holders.insert(server->holders.begin(), server->holders.end());
    sum->read_at = std::min(sum->read_at, server->read_at);
}

GroupTotals::GroupTotals(ConnectionOptions connection, std::string group,
                         std::chrono::milliseconds every)
    : options_(std::move(connection)), group_(std::move(group)), every_(every) {
    options_.application_name = "onceward admin";
    options_.statement_timeout = answer_within;
    options_.lock_timeout = answer_within;
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

GroupTotals::~GroupTotals() = default;

std::optional<DurableTotals> GroupTotals::get() {
    MutexLock lock(mutex_);
    if (!tried_ || Clock::now() - *tried_ >= every_) {
        wanted_ = true;
        wake_.notify_all();
        wake_.wait_for(lock, wait_at_most, [&]() ONCEWARD_REQUIRES(mutex_) { return !wanted_; });
    }
    return known_;
}

void GroupTotals::run(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        if (!wake_.wait_for(lock, stop, close_after,
                            [&]() ONCEWARD_REQUIRES(mutex_) { return wanted_; })) {
            connection_.reset();
            continue;
        }
        lock.unlock();
        std::optional<DurableTotals> totals = read();
        lock.lock();
        if (totals) known_ = std::move(totals);
        tried_ = Clock::now();
        wanted_ = false;
        wake_.notify_all();
    }
}

std::optional<DurableTotals> GroupTotals::read() {
    try {
        if (!connection_) {
            connection_ = std::make_unique<Connection>(options_);
            connection_->query(sql::group_totals_session, {});
        }
        Parameters parameters;
        parameters.text(group_);
        const QueryResult rows = connection_->query(sql::group_totals, parameters);
        DurableTotals totals;
        totals.read_at = std::chrono::system_clock::now();
        for (int row = 0; row < rows.rows(); ++row) {
            totals.topics[std::string(rows.text(row, 0))] = {
                rows.integer(row, 1), rows.integer(row, 2), rows.integer(row, 3),
                rows.integer(row, 4), rows.integer(row, 5)};
        }
        const QueryResult outbox = connection_->query(sql::outbox_totals, parameters);
        totals.outbox = {outbox.integer(0, 0), outbox.integer(0, 1)};
        totals.ledgers = view_ledgers(*connection_, std::nullopt, group_);
        count_open_transactions(*connection_, totals.ledgers);
        for (const LedgerView& ledger : totals.ledgers) {
            if (ledger.held_back < held_for_long) continue;
            for (RetentionHolder& holder : retention_holders(*connection_, ledger.ledger, 1)) {
                totals.holders.emplace(ledger.name, std::move(holder));
            }
        }
        read_letters();
        totals.open_letters = letters_;
        if (letters_) {
            for (const auto& [topic, counts] : totals.topics) (*totals.open_letters)[topic];
        }
        return totals;
    } catch (const PostgresError& error) {
        log_debug("admin.totals_failed", {{"error", error.summary()}});
    } catch (const ServerRefused& error) {
        log_debug("admin.totals_failed", {{"error", error.what()}});
    }
    connection_.reset();
    return std::nullopt;
}

// No index has the open ones alone: a table with millions of letters that were dealt with is read
// whole. So that is done seldom, and given up after `answer_within`.
void GroupTotals::read_letters() {
    const auto begun = Clock::now();
    if (begun < next_letters_) return;
    letters_.reset();
    try {
        const QueryResult rows = connection_->query(sql::open_dead_letters, {group_});
        letters_.emplace();
        for (int row = 0; row < rows.rows(); ++row) {
            OpenLetters& open = (*letters_)[std::string(rows.text(row, 0))];
            open.letters += rows.integer(row, 2);
            open.by_class[std::string(rows.text(row, 1))] = rows.integer(row, 2);
            open.oldest_seconds = std::max(open.oldest_seconds, rows.integer(row, 3));
        }
    } catch (const PostgresError& error) {
        log_debug("admin.totals_failed", {{"error", error.summary()}});
        connection_.reset();
    }
    const auto now = Clock::now();
    next_letters_ =
        now + std::max<Clock::duration>(letters_seldom * every_, letters_rest * (now - begun));
}

}  // namespace onceward
