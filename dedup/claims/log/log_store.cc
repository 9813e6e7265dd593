#include "dedup/claims/log/log_store.h"

#include <algorithm>

#include "dedup/base/mutants.h"
#include "dedup/claims/log/log_reader.h"
#ifdef ONCEWARD_MUTANTS
#include "schemas/mutants.h"
#endif
#include "schemas/queries.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

// The limit if others commit more batches, while this one's sink writes, than may be read under the
// lock.
constexpr std::size_t largest_most_news = 1024;
// A window that has not been read for that long is read before the next batch, so that a worker
// never wakes to a long catch-up.
constexpr auto read_every = 1s;
constexpr int most_joins = 3;
// For the transactions that this one relies on, with the sink's rows locked: one of those may want
// the same row and wait for us.
constexpr auto longest_wait = 200ms;

}  // namespace

LogStore::LogStore(int ledger, int source, std::shared_ptr<LogWindows> windows)
    : ledger_(ledger), source_(source), windows_(std::move(windows)) {}

LogStore::~LogStore() { ended(); }

// DANGER: what the window holds was read or committed on sessions with one server. If a session is
// lost, a fail-over may have undone commits, and a digest that only memory knows would be a lost
// message: this window must not be used any more.
void LogStore::connection_lost() {
    ended();
    append_.clear();
    must_read_ = true;
    if (mutant("window_kept_over_a_reconnect")) return;
    if (window_) windows_->discard(window_);
    window_.reset();
    server_.clear();
}

void LogStore::release_discarded() {
    if (window_ && window_->discarded) window_.reset();
}

// The process's other users of the window keep it; otherwise the next catch_up() reads another.
void LogStore::release_all() { window_.reset(); }

void LogStore::join(Connection& connection) {
    if (window_ && !window_->discarded) return;
    if (server_.empty()) server_ = log_server(connection);
    window_ = windows_->join(server_, ledger_);
    must_read_ = true;
    looked_ = {};  // Nothing was looked up in this one yet.
}

void LogStore::read_to_end(Connection& connection) {
    for (int joins = 0; joins < most_joins; ++joins) {
        join(connection);
        try {
            if (read_on(connection, {ledger_}, *window_)) {
                must_read_ = false;
                return;
            }
        } catch (const PostgresError& error) {
            if (!table_is_gone(error)) throw;
        }
        windows_->discard(window_);
    }
    try_again("the log is dropped faster than it is read");
}

void LogStore::catch_up(Connection& connection) {
    if (!read_news(connection)) pause_for_sealing(ledger_, *windows_);
}

void LogStore::follow(Connection& connection) { read_news(connection); }

bool LogStore::read_news(Connection& connection) {
    join(connection);
    if (must_read_ || LogWindow::Clock::now() >= window_->last_look.load() + read_every) {
        read_to_end(connection);
    } else {
        // A busy worker reads the log only inside its transactions, which do not look for segments.
        follow_segments(connection, {ledger_}, *window_);
    }
    return read_missing_filters(connection);
}

bool LogStore::read_missing_filters(Connection& connection) {
    const auto time = windows_->reading_time(LogWindow::Clock::now());
    try {
        LogWindow* const mine = window_.get();
        return read_filters(connection, ledger_, {&mine, 1}, *windows_, time);
    } catch (const PostgresError& error) {
        if (!table_is_gone(error)) throw;
        look_for_segments();
        return true;
    }
}

void LogStore::look_for_segments() {
    window_->next_segments_look = LogWindow::Clock::time_point{};
    must_read_ = true;
}

// What the filters of segments say yes to is looked up.
void LogStore::check(Transaction& transaction, std::span<const LogWindow::Suspect> suspects,
                     std::span<const Claim> claims, std::span<ClaimAnswer> answers) {
    try {
        verify(transaction, ledger_, suspects, claims, answers);
    } catch (const PostgresError& error) {
        if (!table_is_gone(error)) throw;
        look_for_segments();
        try_again("a segment was dropped, or merged into another");
    }
}

// Begins a transaction's claims. What the filters of segments say yes to is in suspects_.
std::vector<ClaimAnswer> LogStore::look_up(std::span<const Claim> claims) {
    expect_claim_order(claims);
    ended();
    append_.clear();
    reliance_ = {};
    nothing_claimed_ = claims.empty();
    alone_ = false;
    std::vector<ClaimAnswer> answers(claims.size());
    suspects_.clear();
    looked_ = window_->look_up(claims, answers, suspects_);
    return answers;
}

// What is not known is presumed fresh, and settle() finds out. claim() sends a statement only if a
// segment's filter says yes.
std::optional<std::vector<ClaimAnswer>> LogStore::claim(Transaction& transaction,
                                                        std::span<const Claim> claims) {
    std::vector<ClaimAnswer> answers = look_up(claims);
    check(transaction, suspects_, claims, answers);
    number_ = window_->under_way().begin(claims, answers, append_, relies_ ? &reliance_ : nullptr);
    listed_ = window_;
    return answers;
}

// DANGER: the statements have to begin at the position that the look-up has checked. At a later one
// they would not notice what another worker put into the window since then.
std::optional<std::vector<Connection::Planned>> LogStore::append_as_new(
    std::span<const Claim> claims) {
    std::vector<ClaimAnswer> answers = look_up(claims);
    const auto known = [](const ClaimAnswer& answer) { return answer.verdict != Verdict::fresh; };
    if (!suspects_.empty() || std::ranges::any_of(answers, known)) return std::nullopt;
    number_ = window_->under_way().begin(claims, answers, append_, nullptr);
    listed_ = window_;
    alone_ = true;
    generation_ = looked_.generation;
    const auto names = log_names(ledger_, generation_);
    Parameters row = append_.parameters(source_);
    row.integer(ledger_).integer(looked_.last).integer(looked_.evictions);
    return std::vector<Connection::Planned>{{sql::log_lock, {ledger_}, {}},
                                            {sql::log_append_unchanged, std::move(row), names}};
}

void LogStore::appended_as_new(std::span<const QueryResult> results) {
    seq_ = results.back().binary_integer(0, 0);
    // last_look stays as it is. If each batch moved it, the log would never be read, and expired
    // generations would stay in memory.
}

std::vector<std::vector<ClaimPlace>> LogStore::places(Transaction& transaction,
                                                      std::span<const Claim> claims) {
    try {
        return log_places(transaction, ledger_, claims,
                          [&](const Claim&) { return window_.get(); });
    } catch (const PostgresError&) {
        look_for_segments();
        throw;
    }
}

// DANGER: read on first. Memory must not say 'claimed' of a key that was taken out meanwhile.
std::vector<bool> LogStore::known(Connection& connection, std::span<const Digest> digests) {
    read_to_end(connection);
    const std::vector<Claim> claims = claims_of(digests);
    std::vector<ClaimAnswer> answers(claims.size());
    std::vector<LogWindow::Suspect> suspects;
    window_->look_up(claims, answers, suspects);
    if (suspects.empty()) return known_of(answers);
    OwnedTransaction transaction(connection);
    check(transaction, suspects, claims, answers);
    return known_of(answers);
}

bool LogStore::known_by_now() const {
    return window_->position().version != looked_.version &&
           window_->knows_any(append_.digests(), looked_.version);
}

// DANGER: what another worker was about to claim is a duplicate only if that was committed, and
// with the fingerprint that was compared.
bool LogStore::wait_for_reliance() {
    if (reliance_.claims.empty()) return true;
    relies_ = window_->under_way().wait(reliance_.transactions, longest_wait) &&
              window_->holds(reliance_.claims);
    reliance_ = {};
    return relies_;
}

Settlement LogStore::confirm(Transaction&) {
    return wait_for_reliance() ? Settlement::settled : Settlement::again;
}

bool LogStore::reconsider(Connection& connection) {
    if (append_.empty()) return false;
    // DANGER: the sink may have met the row of a duplicate that another worker has just committed.
    // That row and its digest are of one transaction, so that the digest is in the log by now.
    read_to_end(connection);
    return window_->knows_any(append_.digests(), looked_.version);
}

// Nothing is appended, so that nothing is to be waited for: the verdicts hold as of this statement.
Settlement LogStore::settle_duplicates(Transaction& transaction) {
    const QueryResult row = transaction.prepared(sql::log_evictions, {ledger_}, {}, true);
    if (row.rows() == 1 && row.binary_integer(0, 0) == window_->position().evictions) {
        return Settlement::settled;
    }
    windows_->discard(window_);
    return Settlement::again;
}

LogLook LogStore::append(Transaction& transaction, const LogWindow::Position& at) {
    const auto names = log_names(ledger_, at.generation);
    const Parameters lock{ledger_};
    const Parameters look{ledger_, at.last, most_news_};
    const Parameters row = append_.parameters(source_);
    // DANGER: the lock comes after the sink's writes, never before: a writer that holds a row and
    // waits for the lock would deadlock with the lock's holder that wants the row. And the look is
    // a statement after the lock's, with a snapshot of its own.
    std::string_view lock_statement = sql::log_lock;
    std::string_view look_statement = sql::log_look;
#ifdef ONCEWARD_MUTANTS
    if (mutant("news_read_with_the_lock")) {
        lock_statement = sql::log_evictions;
        look_statement = sql::log_look_with_the_lock;
    }
#endif
    std::vector<QueryResult> results = transaction.pipelined({{sql::no_limits},
                                                              {lock_statement, lock, names},
                                                              {look_statement, look, names},
                                                              {sql::log_append, row, names}});
    seq_ = results[3].binary_integer(0, 0);
    generation_ = at.generation;
    return LogLook(std::move(results[2]));
}

void LogStore::read_ahead(Transaction& transaction) {
    while (true) {
        const LogWindow::Position at = window_->position();
        const LogLook look = look_at(transaction.connection(), {ledger_}, at, most_news_);
        if (judge(look.state, at, look.batches.size(), most_news_) == LookVerdict::gone) return;
        window_->take_in(at.generation, look.batches);
        if (look.batches.size() < most_news_) return;
    }
}

// Compared, and not taken into the window: all other processes wait for the lock, and a digest
// costs far more there. committed() does that.
bool LogStore::appended_meanwhile(const LogLook& look) const {
    return std::ranges::any_of(
        look.batches, [&](const LogBatch& batch) { return may_meet(append_.digests(), batch); });
}

Settlement LogStore::settle(Transaction& transaction) {
    if (nothing_claimed_) return Settlement::settled;
    // confirm() has waited already; this is for a caller that left it out.
    if (!wait_for_reliance()) return Settlement::again;
    if (append_.empty()) return settle_duplicates(transaction);
    try {
        if (most_news_ > first_most_news) {
            read_ahead(transaction);
            if (known_by_now()) return Settlement::again;
        }
        // Before the look, so that what a neighbour puts in meanwhile is in the window or in the
        // look.
        const LogWindow::Position at = window_->position();
        LogLook look = append(transaction, at);
        switch (judge(look.state, at, look.batches.size(), most_news_)) {
            case LookVerdict::gone:
                windows_->discard(window_);
                must_read_ = true;
                return Settlement::again;
            case LookVerdict::more:
                window_->take_in(at.generation, look.batches);
                if (look.batches.size() >= most_news_) {
                    most_news_ = std::min(2 * most_news_, largest_most_news);
                }
                must_read_ = true;
                return Settlement::again;
            case LookVerdict::complete: break;
        }
        window_->forget_before(look.state.oldest);
        if (appended_meanwhile(look)) {
            window_->take_in(at.generation, look.batches);
            return Settlement::again;
        }
        news_.emplace(std::move(look));
    } catch (const PostgresError& error) {
        if (!table_is_gone(error)) throw;
        windows_->discard(window_);
        try_again("the generation was dropped");
    }
    if (known_by_now()) return Settlement::again;
    window_->last_look = LogWindow::Clock::now();
    return Settlement::settled;
}

void LogStore::committing() {
    if (!append_.empty()) window_->make_room(generation_, append_.digests());
}

void LogStore::committed() {
    relies_ = true;
    if (!append_.empty()) {
        std::vector<LogBatch> batches;
        if (!alone_) batches = std::move(news_.value().batches);
        batches.push_back(append_.batch(seq_));
        window_->take_in(generation_, batches);
    }
    ended();
    append_.clear();
}

void LogStore::ended() {
    news_.reset();
    if (listed_) listed_->under_way().end(number_);
    listed_.reset();
}

}  // namespace onceward
