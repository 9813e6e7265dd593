#include "tests/support/core_harness.h"

#include "dedup/base/mutants.h"
#include "dedup/ledger/ledger.h"
#include "sinks/dead_letters/dead_letter_sink.h"
#include "tests/support/eventually.h"

namespace onceward::support {

EffectSink::EffectSink(std::string table, std::string columns, std::string expressions)
    : statement_("INSERT INTO " + table + " (digest, key, partition, record_offset, " + columns +
                 ") SELECT digest, key, partition, record_offset, " + expressions +
                 " FROM unnest($1::uuid[], $2::text[], $3::integer[], $4::bigint[], $5::text[]) "
                 "AS message (digest, key, partition, record_offset, payload)") {}

namespace {

Parameters columns_of(std::span<const Message* const> messages) {
    std::vector<Digest> digests;
    std::vector<std::optional<std::string_view>> keys, payloads;
    std::vector<std::int32_t> partitions;
    std::vector<std::int64_t> offsets;
    for (const Message* message : messages) {
        digests.push_back(message->digest);
        keys.push_back(message->key_text);
        payloads.push_back(message->record.payload);
        partitions.push_back(message->record.partition.raw());
        offsets.push_back(message->record.offset.raw());
    }
    Parameters columns;
    columns.digests(digests)
        .texts(keys)
        .small_integers(partitions)
        .integers(offsets)
        .texts(payloads);
    return columns;
}

}  // namespace

void EffectSink::write(Transaction& transaction, const BatchContext&,
                       std::span<const Message* const> messages) {
    ++writes;
    transaction.prepared(statement_, columns_of(messages));
}

std::optional<std::vector<SinkStatement>> EffectSink::at_once(
    const BatchContext&, std::span<const Message* const> messages) {
    if (!has_statements) return std::nullopt;
    ++at_once_given;
    return std::vector<SinkStatement>{{statement_, columns_of(messages), {}}};
}

CoreWorker::CoreWorker(const ScriptedLog& log, Sink& sink, CoreWorkerOptions options)
    : log_(log),
      options_(std::move(options)),
      dead_letters_(std::make_unique<DeadLetterSink>()),
      sink_(sink),
      fences_(options_.group, options_.name) {
    options_.connection.application_name = options_.name;
    if (options_.partitions.empty()) {
        for (int partition = 0; partition < log.partitions(); ++partition) {
            options_.partitions.insert(partition);
        }
    }
}

CoreWorker::~CoreWorker() { lose_connection(); }

void CoreWorker::assign(std::set<int> partitions) {
    std::erase_if(positions_, [&](const auto& entry) {
        if (partitions.contains(entry.first.raw())) return false;
        fences_.drop(options_.topic, entry.first);
        const TopicPartition left{options_.topic, entry.first};
        if (claims_) claims_->partitions_lost({&left, 1});
        if (processor_) processor_->abandon({entry.first});
        return true;
    });
    options_.partitions = std::move(partitions);
}

void CoreWorker::lose_connection() {
    if (connection_ && options_.guard != nullptr) options_.guard->forget(connection_->pid());
    connection_.reset();
    fences_.connection_lost();
    if (claims_) claims_->connection_lost();
    if (answers_) answers_->connection_lost();
    if (processor_) processor_->abandon();
    if (!options_.begin_from_memory) positions_.clear();
}

void CoreWorker::register_ledger_once() {
    if (processor_) return;
    LedgerOptions ledger;
    ledger.name = options_.ledger;
    ledger.retention = options_.retention;
    ledger.store = options_.store;
    ledger.any_store = options_.any_store;
    ledger.reach = options_.reach;
    ledger.stores_results = options_.answers.has_value();
    const RegisteredLedger registered =
        register_ledger(*connection_, ledger, options_.group, options_.topic);
    ledger_ = registered.ledger;
    claims_ = make_claim_store(ledger, registered, options_.log_windows);
    const BatchContext context{options_.group, options_.topic};
    if (options_.answers) {
        results_ =
            std::make_unique<ResultStore>(ledger_, registered.store, options_.answers->cache_bytes);
        answers_ =
            std::make_unique<ResultReplay>(*options_.answers, context, *results_, options_.replies);
    }
    processor_ = std::make_unique<Processor>(
        context, options_.policy,
        Processor::Parts{fences_, claims_.get(), sink_, *dead_letters_, options_.observer,
                         options_.overdue, options_.finish, answers_.get()},
        [this](std::span<const FenceMove> moves) {
            for (const FenceMove& move : moves) {
                totals += move.totals;
                if (options_.on_commit) options_.on_commit(move);
            }
        });
}

void CoreWorker::connect() {
    if (!connection_) {
        connection_.emplace(options_.connection);
        if (options_.guard != nullptr) options_.guard->watch(connection_->pid());
    }
    // Not only on a new session: a registration may have failed for a passing reason.
    register_ledger_once();
}

void CoreWorker::abandon() {
    if (processor_) processor_->abandon();
}

void CoreWorker::take_fences() {
    for (const int raw : options_.partitions) {
        const Partition partition{raw};
        if (fences_.owns(options_.topic, partition)) continue;
        reached(options_.observer, Step::before_take_over);
        if (!fences_.look(*connection_, options_.topic, partition)) {
            fences_.create(*connection_, options_.topic, {{partition, {Offset{0}}}}, ledger_);
        }
        const TopicPartition mine{options_.topic, partition};
        const bool too_early = mutant("window_read_before_the_take_over");
        if (too_early) claims_->partitions_taken(*connection_, {&mine, 1});
        const FenceState state = fences_.take_over(*connection_, options_.topic, partition, {},
                                                   ledger_, [] { return true; });
        try {
            if (!too_early) claims_->partitions_taken(*connection_, {&mine, 1});
        } catch (const PostgresError&) {
            // As with the product's worker, the partition is to be taken once more.
            fences_.drop(options_.topic, partition);
            throw;
        }
        reached(options_.observer, Step::after_take_over);
        if (options_.begin_from_memory && positions_.contains(partition)) continue;
        positions_[partition] = state.next_offset;
    }
}

bool CoreWorker::fill() {
    if (!processor_->idle()) return true;
    Batch batch;
    batch.topic = options_.topic;
    const std::size_t each =
        std::max<std::size_t>(1, options_.batch_messages / options_.partitions.size());
    for (auto& [partition, position] : positions_) {
        Chunk chunk = log_.read(partition, position, each);
        if (chunk.spans.empty()) continue;
        for (Message& message : chunk.messages) {
            message.deferred = options_.finish != nullptr;
        }
        position = chunk.spans[0].end;
        append(batch, std::move(chunk));
    }
    if (batch.empty()) return false;
    processor_->start(std::move(batch));
    return true;
}

std::set<Partition> CoreWorker::process() {
    std::set<Partition> gone;
    try {
        gone = processor_->run(*connection_);
    } catch (const MessageWaits& waits) {
        // As the product's worker does, but for the pause: from the fence, under a new owner.
        processor_->abandon({waits.partition});
        gone.insert(waits.partition);
        ++waited;
        pauses.push_back(waits.pause);
    }
    for (const Partition partition : gone) {
        ++missed;
        fences_.drop(options_.topic, partition);
        positions_.erase(partition);
    }
    return gone;
}

void CoreWorker::handle(const PostgresError& error, FailureAction action) {
    ++failures[error.sqlstate()];
    if (error.diagnosis().in_doubt) ++in_doubt;
    switch (action) {
        case FailureAction::retry:
            eventually(std::chrono::milliseconds(5), [] { return false; });
            return;
        case FailureAction::reconnect: lose_connection(); return;
        case FailureAction::reject:
        case FailureAction::stop: throw error;
    }
}

bool CoreWorker::step() {
    try {
        connect();
        take_fences();
        if (!fill()) return false;
        process();
    } catch (const StoreChanged&) {
        // As the product's worker does: the batch is read again from the fence, with a processor
        // for the store that the ledger has now.
        ++store_changes;
        processor_.reset();
        answers_.reset();
        claims_.reset();
        for (const auto& [partition, position] : std::exchange(positions_, {})) {
            fences_.drop(options_.topic, partition);
        }
    } catch (const ProcessingError& error) {
        handle(error, error.action);
    } catch (const PostgresError& error) {
        handle(error, classify(error.diagnosis(), Origin::ours, 0));
    }
    return true;
}

bool CoreWorker::run(std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (step()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
    }
    return true;
}

namespace {

struct Expected {
    std::set<std::string> keys;  // of messages that nothing says anything against
    std::int64_t messages = 0;
};

Expected expected_of(const ScriptedLog& log) {
    Expected expected;
    for (int partition = 0; partition < log.partitions(); ++partition) {
        for (const auto& [offset, entry] : log.entries(partition)) {
            ++expected.messages;
            if (!entry.rejection && !entry.skipped) expected.keys.insert(entry.key);
        }
    }
    return expected;
}

// Each claim that is there, with the transaction that wrote it.
std::string all_claims(Database& database) {
    std::string claims;
    for (const Row& row : database.execute(
             "SELECT ledger || '_' || generation || coalesce('m' || nullif(merge, 0), ''), "
             "store, segment FROM generations "
             "JOIN ledgers USING "
             "(ledger) LEFT JOIN segments USING (ledger, generation)")) {
        if (!claims.empty()) claims += " UNION ALL ";
        if (row[2]) {
            claims +=
                "SELECT encode(substr(digests, 16 * n + 1, 16), 'hex')::uuid AS digest, "
                "b.transaction::text::xid AS xmin FROM sealed_" +
                *row[0] +
                " s CROSS JOIN generate_series(0, length(digests) / 16 - 1) AS n JOIN "
                "batches_" +
                *row[0] + " b ON b.seq = (SELECT min(seq) FROM batches_" + *row[0] +
                ") + ('x' || encode(substr(s.batches, 4 * n + 1, 4), "
                "'hex'))::bit(32)::bigint";
        } else if (*row[1] == "log") {
            claims +=
                "SELECT encode(substr(digests, 16 * n + 1, 16), 'hex')::uuid AS digest, "
                "b.xmin FROM claims_" +
                *row[0] + " b, generate_series(0, length(digests) / 16 - 1) AS n";
        } else {
            claims += "SELECT digest, xmin FROM claims_" + *row[0];
        }
    }
    return claims;
}

// I6: each claim's row was written by the transaction of its effect, and the other way round.
std::int64_t unpaired(Database& database, const std::string& effects) {
    const std::string claims = all_claims(database);
    if (claims.empty()) return 0;
    return database.number("SELECT count(*) FROM (SELECT digest, xmin AS claimed FROM (" + claims +
                           ") AS c) AS c FULL JOIN (SELECT digest, xmin AS written FROM " +
                           effects +
                           ") AS e USING (digest) "
                           "WHERE claimed IS DISTINCT FROM written");
}

}  // namespace

std::vector<std::string> violations(FreshSchema& schema, const ScriptedLog& log,
                                    const std::string& effects, const Expectation& expected) {
    Database& database = schema.database();
    std::vector<std::string> found;
    const auto want = [&](std::int64_t is, std::int64_t should, const std::string& what) {
        if (is == should) return;
        found.push_back(what + ": " + std::to_string(is) + ", not " + std::to_string(should));
    };
    const Expected all = expected_of(log);
    std::set<std::string> applied;
    for (const Row& row :
         database.execute("SELECT key, count(*) FROM " + effects + " GROUP BY key")) {
        applied.insert(*row[0]);
        if (*row[1] != "1") {
            found.push_back("I1: key " + *row[0] + " was applied " + *row[1] + " times");
        }
        if (!all.keys.contains(*row[0])) found.push_back("I1: nobody sent key " + *row[0]);
    }
    if (!expected.some_rejected) {
        want(static_cast<std::int64_t>(applied.size()), static_cast<std::int64_t>(all.keys.size()),
             "I1: keys with an effect");
    }
    for (int partition = 0; partition < log.partitions(); ++partition) {
        const std::string where = " FROM fences WHERE consumer_group = '" + expected.group +
                                  "' AND topic = '" + expected.topic +
                                  "' AND partition = " + std::to_string(partition);
        want(database.number("SELECT coalesce(sum(next_offset), 0)" + where),
             log.end(partition).raw(), "I3: the fence of partition " + std::to_string(partition));
        want(database.number(
                 "SELECT coalesce(sum(applied + duplicates + conflicts + dead_lettered + "
                 "skipped), 0)" +
                 where),
             static_cast<std::int64_t>(log.entries(partition).size()),
             "I16: messages passed in partition " + std::to_string(partition));
    }
    want(database.number("SELECT coalesce(sum(applied), 0) FROM fences"),
         database.number("SELECT count(*) FROM " + effects), "I16: the total of applied");
    want(database.number("SELECT coalesce(sum(dead_lettered + conflicts), 0) FROM fences"),
         database.number("SELECT count(*) FROM dead_letters"), "I16: the total of dead letters");
    want(database.number(
             "SELECT count(*) FROM dead_letters AS d WHERE error_class = 'conflict' AND NOT EXISTS "
             "(SELECT FROM " +
             effects +
             " AS e, jsonb_array_elements(d.first_places) AS place WHERE e.digest = d.digest AND "
             "e.partition = (place->>'partition')::integer AND e.record_offset BETWEEN "
             "(place->>'offset')::bigint AND "
             "coalesce(place->>'last_offset', place->>'offset')::bigint)"),
         0, "I11: conflicts that do not name their key's effect");
    want(unpaired(database, effects), 0, "I6: claims and effects of different transactions");
    return found;
}

}  // namespace onceward::support
