#include "dedup/retention/conversion.h"

#include <algorithm>
#include <span>
#include <utility>

#include "dedup/base/mutants.h"
#include "dedup/claims/log/log_reader.h"
#include "dedup/postgres/transaction.h"
#include "dedup/retention/leadership.h"
#include "dedup/retention/ledger_view.h"
#include "dedup/retention/table_sealing.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::string_view changed_meanwhile = "40001";
constexpr std::string_view deadlock = "40P01";
constexpr std::string_view not_the_owner = "42501";
// Rotations, and changes that somebody else made, before the conversion gives up.
constexpr int most_rounds = 50;
// In the switch the open generation may have this many times the claims that it was allowed before:
// it grows while the switch waits for the lock.
constexpr std::int64_t most_open_in_the_switch = 4;
// The session has no limit of its own, since a large generation takes its time.
constexpr std::string_view longest_switch = "60s";

// As PostgreSQL writes an array.
template <class Value>
std::string array_of(std::span<const ConversionPlan::Generation> generations, Value value) {
    std::string text = "{";
    for (const ConversionPlan::Generation& generation : generations) {
        if (!generation.sealed) continue;
        if (text.size() > 1) text += ',';
        text += std::to_string(value(generation));
    }
    return text + '}';
}

bool lists_the_same(const ConversionPlan& one, const ConversionPlan& other) {
    using Generation = ConversionPlan::Generation;
    return std::ranges::equal(one.generations, other.generations, {}, &Generation::generation,
                              &Generation::generation);
}

class Conversion {
  public:
    Conversion(Connection& connection, std::string name, const ConversionOptions& options)
        : connection_(connection), name_(std::move(name)), options_(options) {}

    ConversionReport run() {
        while (rounds_ < most_rounds) {
            const ConversionPlan plan = plan_conversion(connection_, name_);
            if (plan.is_log) {
                write_missing_filters(connection_, plan.ledger);
                return report_;
            }
            if (make_segment(plan)) continue;
            ++rounds_;
            if (rotate(plan)) continue;
            if (switch_over(plan)) return report_;
        }
        throw ConversionRefused("ledger " + name_ +
                                " changes faster than it is converted; what is ready is kept: try "
                                "again when less is written");
    }

  private:
    void reached(ConversionStep step, std::int64_t generation, std::int64_t claims) const {
        if (options_.reached) options_.reached(step, generation, claims);
    }

    // Makes a segment of the oldest sealed generation that has none. False if all have one.
    bool make_segment(const ConversionPlan& plan) try {
        last_seq_ = 0;
        const ConversionPlan::Generation* next = nullptr;
        for (const ConversionPlan::Generation& generation : plan.generations) {
            if (!generation.sealed) continue;
            if (!generation.claims) {
                if (next == nullptr) next = &generation;
                continue;
            }
            const auto names = log_names(plan.ledger, generation.generation);
            last_seq_ = std::max(
                last_seq_, connection_.query(sql::conversion_last_seq, {}, names).integer(0, 0));
        }
        if (next == nullptr) return false;
        if (!seal_table(connection_, plan.ledger, *next, options_, last_seq_ + 1)) ++rounds_;
        connection_.forget_prepared();
        return true;
    } catch (const PostgresError& error) {
        if (!table_is_gone(error)) throw;
        // It expired meanwhile, and its tables are gone. If the same ones are listed, no further
        // round would find the table.
        if (lists_the_same(plan, plan_conversion(connection_, name_))) {
            throw ConversionRefused("a table of ledger " + name_ +
                                    " is missing, though its generation is listed: " +
                                    error.summary());
        }
        ++rounds_;
        return true;
    }

    // Seals the open generation, if it is too large.
    bool rotate(const ConversionPlan& plan) {
        if (plan.open_claims <= options_.most_open_claims) return false;
        const std::int64_t open = plan.generations.back().generation;
        const bool rotated = patiently([&] {
            OwnedTransaction transaction(connection_);
            transaction.limit_lock_wait(options_.sealing.lock_timeout);
            transaction.query(sql::retention_rotate, {plan.ledger, open});
            transaction.commit();
        });
        if (rotated) reached(ConversionStep::rotated, open, plan.open_claims);
        return true;
    }

    // False: the ledger has other generations by now, or one of them other claims.
    bool switch_over(const ConversionPlan& plan) {
        const std::int64_t open = plan.generations.back().generation;
        reached(ConversionStep::switching, open, plan.open_claims);
        if (!patiently([&] { begin_and_commit(plan); })) return false;
        tell(plan);
        reached(ConversionStep::switched, open, report_.claims);
        write_missing_filters(connection_, plan.ledger);
        return true;
    }

    // In one round trip, so that no process that is frozen, or gone, holds the lock.
    // DANGER: take the lock first, and each statement after it with a snapshot of its own. Before
    // this commits the tables decide every claim, after it the log does. A claim that was under way
    // has committed by then, or fails because its table is gone.
    void begin_and_commit(const ConversionPlan& plan) {
        const std::string open = std::to_string(plan.generations.back().generation);
        const std::string wait = std::to_string(options_.sealing.lock_timeout.count()) + "ms";
        using Generation = ConversionPlan::Generation;
        const auto of = [&](auto value) { return array_of(plan.generations, value); };
        const Connection::Names names{
            {"ledger", std::to_string(plan.ledger)},
            {"open", open},
            {"most_open", std::to_string(most_open_in_the_switch * options_.most_open_claims)},
            {"generation", open},
            {"first", std::to_string(last_seq_ + 1)},
            {"generations", of([](const Generation& one) { return one.generation; })},
            {"claims", of([](const Generation& one) { return *one.claims; })},
            {"bits", of([](const Generation& one) { return one.shard_bits; })},
            {"last_evictions", of([](const Generation& one) { return one.last_eviction; })}};
        std::vector<Connection::Planned> statements;
        statements.push_back({sql::transaction_limits, Parameters{wait}.text(longest_switch), {}});
        const bool locks = !mutant("switched_without_the_lock");
        if (locks) statements.push_back({sql::log_lock, {plan.ledger}, {}});
        statements.push_back({sql::conversion_check, {}, names});
        // A reader of a table, such as a dump, is noticed before the work that claims wait for.
        if (locks) statements.push_back({sql::conversion_lock_tables, {}, names});
        statements.push_back({sql::conversion_begin, {}, names});
        statements.push_back({sql::conversion_blocks, {}, names});
        statements.push_back({sql::conversion_switch, {}, names});
        OwnedTransaction transaction(connection_, OwnedTransaction::Begin::with_first);
        transaction.run_whole(statements);
    }

    void tell(const ConversionPlan& plan) {
        report_.converted = true;
        report_.segments = static_cast<std::int64_t>(plan.generations.size());
        report_.claims = connection_.query(sql::conversion_rest, {}).integer(0, 0);
        for (const ConversionPlan::Generation& generation : plan.generations) {
            report_.claims += generation.claims.value_or(0);
        }
    }

    // Returns false if the ledger has changed, or a deadlock was broken. The caller then checks the
    // ledger again.
    bool patiently(const std::function<void()>& work) {
        const auto begun = std::chrono::steady_clock::now();
        bool done = false;
        try {
            done = try_publishing(options_.sealing, [&] {
                work();
                return true;
            });
        } catch (const PostgresError& error) {
            if (error.sqlstate() == sqlstate::lock_not_available) {
                throw ConversionRefused(
                    "ledger " + name_ +
                    " or one of its tables is held by another session for too long (such as a "
                    "dump; `onceward doctor` names transactions that are open): what is ready is "
                    "kept, so try again when that has ended");
            }
            if (error.sqlstate() != changed_meanwhile && error.sqlstate() != deadlock) throw;
        }
        report_.waited += std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::steady_clock::now() - begun);
        return done;
    }

    Connection& connection_;
    const std::string name_;
    const ConversionOptions& options_;
    ConversionReport report_;
    std::int64_t last_seq_ = 0;  // of the segments that are ready
    int rounds_ = 0;
};

void become_owner(Connection& connection) {
    try {
        connection.query(sql::conversion_owner, {});
    } catch (const PostgresError& error) {
        if (error.sqlstate() != not_the_owner) throw;
        throw ConversionRefused(
            "a conversion makes and drops tables: connect as the schema's owner, as for `onceward "
            "migrate up`");
    }
}

}  // namespace

ConversionPlan plan_conversion(Connection& connection, const std::string& ledger) {
    const QueryResult row = connection.query(sql::conversion_ledger, {ledger});
    if (row.rows() == 0) throw ConversionRefused("there is no ledger " + ledger);
    ConversionPlan plan;
    plan.ledger = static_cast<int>(row.integer(0, 0));
    plan.is_log = row.text(0, 1) == to_text(StoreKind::log);
    plan.fed_by = row.text(0, 4);
    if (plan.is_log) return plan;
    if (row.text(0, 1) != to_text(StoreKind::table)) {
        throw ConversionRefused("ledger " + ledger + " has the store " +
                                std::string(row.text(0, 1)) + "; only a table becomes a log");
    }
    if (!row.text(0, 3).empty()) {
        throw ConversionRefused("requests or calls claim in ledger " + ledger + " (" +
                                std::string(row.text(0, 3)) +
                                "), and they need its tables: it stays as it is");
    }
    if (row.boolean(0, 2)) {
        throw ConversionRefused("ledger " + ledger +
                                " stores results, which are kept with its tables: it stays as it "
                                "is");
    }
    const QueryResult rows = connection.query(sql::conversion_generations, {plan.ledger});
    for (int at = 0; at < rows.rows(); ++at) {
        ConversionPlan::Generation generation;
        generation.generation = rows.integer(at, 0);
        generation.sealed = rows.boolean(at, 1);
        generation.bytes = rows.integer(at, 2);
        generation.last_eviction = rows.integer(at, 3);
        if (!rows.is_null(at, 4)) {
            generation.claims = rows.integer(at, 4);
            generation.shard_bits = static_cast<int>(rows.integer(at, 5));
        }
        const std::int64_t claims =
            generation.claims ? *generation.claims
                              : count_claims(connection, plan.ledger, generation.generation,
                                             generation.bytes, StoreKind::table)
                                    .claims;
        plan.claims += claims;
        if (!generation.sealed) plan.open_claims = claims;
        plan.generations.push_back(generation);
    }
    if (plan.generations.empty() || plan.generations.back().sealed) {
        throw ConversionRefused("ledger " + ledger + " has no open generation yet");
    }
    return plan;
}

ConversionReport convert_to_log(Connection& connection, const std::string& ledger,
                                const ConversionOptions& options) {
    become_owner(connection);
    const ConversionPlan plan = plan_conversion(connection, ledger);
    const Leadership leadership(connection, std::to_string(plan.ledger) + " conversion");
    if (!leadership.held()) {
        throw ConversionRefused("another process converts ledger " + ledger);
    }
    return Conversion(connection, ledger, options).run();
}

}  // namespace onceward
