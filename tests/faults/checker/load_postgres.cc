#include "tests/faults/checker/load_postgres.h"

#include <nlohmann/json.hpp>

#include "tests/faults/checker/base64.h"
#include "tests/faults/checker/checker_sql.h"
#include "tests/faults/checker/log_claims.h"
#include "tests/faults/checker/pg_session.h"

namespace onceward::checker {
namespace {

constexpr int connect_seconds = 10;
constexpr int most_tries = 3;

std::string with_schema(std::string sql, const std::string& schema) {
    static const std::string mark = "{schema}";
    for (auto at = sql.find(mark); at != std::string::npos; at = sql.find(mark, at)) {
        sql.replace(at, mark.size(), schema);
        at += schema.size();
    }
    return sql;
}

std::vector<Header> headers_from(const std::string& text) {
    std::vector<Header> headers;
    for (const auto& entry : nlohmann::json::parse(text)) {
        const std::string name = entry.contains("name_base64")
                                     ? from_base64(entry.at("name_base64").get<std::string>())
                                     : entry.at("name").get<std::string>();
        std::optional<std::string> value;
        if (!entry.at("value").is_null()) value = from_base64(entry.at("value").get<std::string>());
        headers.emplace_back(name, value);
    }
    return headers;
}

class Loader {
  public:
    Loader(const DatabaseSource& source, Evidence& evidence)
        : source_(source), evidence_(evidence), session_(source.dsn, connect_seconds) {
        for (std::size_t i = 0; i < evidence.topics.size(); ++i) {
            topics_[evidence.topics[i].name] = static_cast<int>(i);
        }
    }

    void load() {
        session_.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        read_fences();
        read_claims();
        read_dead_letters();
        read_skipped();
        read_outbox();
        evidence_.effects.clear();
        for (const SinkTable& sink : source_.sinks) read_effects(sink);
        add_log_claims(log_rows_, evidence_);
        read_audit();
        session_.run("COMMIT");
    }

  private:
    Rows query(const std::string& sql, const std::vector<std::string>& values = {}) {
        return session_.query(with_schema(sql, session_.identifier(source_.schema)), values);
    }
    // -1: none of ours.
    int topic(const std::string& name) const {
        const auto found = topics_.find(name);
        return found == topics_.end() ? -1 : found->second;
    }

    void read_fences() {
        const Rows rows = query(
            "SELECT topic, partition, first_offset, next_offset, applied, duplicates, conflicts,"
            " dead_lettered, skipped, epoch, owner, ledger FROM {schema}.fences"
            " WHERE consumer_group = $1",
            {source_.consumer_group});
        evidence_.fences.clear();
        for (int row = 0; row < rows.size(); ++row) {
            const int number = topic(rows.text(row, 0));
            if (number < 0) continue;
            evidence_.fences.push_back(
                {.name = {number, static_cast<int>(rows.number(row, 1))},
                 .first_offset = rows.number(row, 2),
                 .next_offset = rows.number(row, 3),
                 .totals = {rows.number(row, 4), rows.number(row, 5), rows.number(row, 6),
                            rows.number(row, 7), rows.number(row, 8)},
                 .epoch = rows.number(row, 9),
                 .owner = rows.text(row, 10),
                 .ledger = static_cast<int>(rows.number(row, 11))});
        }
    }

    void read_claims() {
        std::unordered_map<std::int64_t, int> topics;
        const Rows feeds =
            query("SELECT source, topic FROM {schema}.ledger_feeds WHERE consumer_group = $1",
                  {source_.consumer_group});
        for (int row = 0; row < feeds.size(); ++row) {
            topics[feeds.number(row, 0)] = topic(feeds.text(row, 1));
        }
        const Rows listed = query(
            "SELECT ledger, generation, CASE WHEN segment IS NULL THEN store ELSE 'segment' END,"
            " generation || coalesce('m' || nullif(merge, 0), ''),"
            " coalesce(last_generation, generation)"
            " FROM {schema}.generations JOIN {schema}.ledgers USING (ledger)"
            " LEFT JOIN {schema}.segments USING (ledger, generation) WHERE store <> 'lease'"
            // Those of requests have no places: see load_requests.cc.
            " AND ledger NOT IN (SELECT ledger FROM {schema}.ledger_feeds"
            " WHERE longest_request IS NOT NULL)");
        evidence_.generations.clear();
        evidence_.claims.clear();
        log_rows_.clear();
        for (int row = 0; row < listed.size(); ++row) {
            const int ledger = static_cast<int>(listed.number(row, 0));
            evidence_.generations.push_back({.ledger = ledger,
                                             .generation = listed.number(row, 1),
                                             .last = listed.number(row, 4)});
            if (listed.text(row, 2) != "table") {
                const std::string name = listed.text(row, 0) + "_" + listed.text(row, 3);
                read_log(ledger, listed.number(row, 1), name, listed.text(row, 2) == "segment",
                         topics);
                continue;
            }
            const Rows claims = query(
                "SELECT source, partition, record_offset, xmin, digest FROM {schema}.claims_" +
                listed.text(row, 0) + "_" + listed.text(row, 1));
            for (int claim = 0; claim < claims.size(); ++claim) {
                const auto found = topics.find(claims.number(claim, 0));
                if (found == topics.end() || found->second < 0) continue;
                evidence_.claims.push_back(
                    {.place = {found->second, static_cast<int>(claims.number(claim, 1)),
                               claims.number(claim, 2)},
                     .transaction = static_cast<Transaction>(claims.number(claim, 3)),
                     .ledger = ledger,
                     .generation = listed.number(row, 1),
                     .digest = claims.text(claim, 4)});
            }
        }
        read_leases(session_, session_.identifier(source_.schema), topics, evidence_);
    }

    // A row for each range of each batch, in the batches' order.
    void read_log(int ledger, std::int64_t generation, const std::string& name, bool segment,
                  const std::unordered_map<std::int64_t, int>& topics) {
        // A segment's digests are sorted, each with the number of its batch.
        const std::string digests_of_batches =
            "(SELECT seq, source, transaction AS xmin, partitions, first_offsets, last_offsets,"
            " (SELECT decode(coalesce(string_agg(encode(substr(s.digests, 16 * n + 1, 16), 'hex'),"
            " ''), ''), 'hex') FROM {schema}.sealed_" +
            name +
            " AS s CROSS JOIN generate_series(0, length(s.digests) / 16 - 1) AS n WHERE"
            " ('x' || encode(substr(s.batches, 4 * n + 1, 4), 'hex'))::bit(32)::bigint ="
            " a.seq - (SELECT min(seq) FROM {schema}.batches_" +
            name + ")) AS digests FROM {schema}.batches_" + name + " AS a)";
        const Rows rows = query(
            "SELECT b.seq, b.source, b.xmin, encode(b.digests, 'hex'), r.partition, r.first, r.last"
            " FROM " +
            (segment ? digests_of_batches : "{schema}.claims_" + name) +
            " AS b CROSS JOIN unnest(b.partitions, b.first_offsets, b.last_offsets)"
            " AS r (partition, first, last) ORDER BY b.seq");
        std::int64_t seq = -1;
        for (int row = 0; row < rows.size(); ++row) {
            const auto found = topics.find(rows.number(row, 1));
            if (found == topics.end() || found->second < 0) continue;
            if (rows.number(row, 0) != seq) {
                seq = rows.number(row, 0);
                log_rows_.push_back({.topic = found->second,
                                     .transaction = static_cast<Transaction>(rows.number(row, 2)),
                                     .ledger = ledger,
                                     .generation = generation,
                                     .digests = rows.text(row, 3),
                                     .ranges = {}});
            }
            log_rows_.back().ranges.push_back(
                {static_cast<int>(rows.number(row, 4)), rows.number(row, 5), rows.number(row, 6)});
        }
    }

    bool audited() {
        const Rows installed =
            session_.query("SELECT to_regclass($1) IS NOT NULL",
                           {session_.identifier(source_.schema) + ".checker_dead_letters"});
        return installed.text(0, 0) == "t";
    }

    void read_dead_letters() {
        const Rows rows = query(
            "SELECT topic, partition, record_offset, " +
                std::string(audited() ? "coalesce((SELECT transaction::text FROM"
                                        " {schema}.checker_dead_letters AS made WHERE"
                                        " made.dead_letter = d.dead_letter), d.xmin::text)"
                                      : "xmin") +
                ", identity, record_timestamp IS NOT NULL,"
                " record_key, headers, payload, error_class, sqlstate, reason, attempts"
                " FROM {schema}.dead_letters AS d WHERE consumer_group = $1 ORDER BY dead_letter",
            {source_.consumer_group});
        evidence_.dead_letters.clear();
        for (int row = 0; row < rows.size(); ++row) {
            const int number = topic(rows.text(row, 0));
            if (number < 0) continue;
            evidence_.dead_letters.push_back(
                {.place = {number, static_cast<int>(rows.number(row, 1)), rows.number(row, 2)},
                 .transaction = static_cast<Transaction>(rows.number(row, 3)),
                 .identity = rows.text(row, 4),
                 .content = {.key = rows.bytes(row, 6),
                             .payload = rows.bytes(row, 8),
                             .headers = headers_from(rows.text(row, 7))},
                 .has_timestamp = rows.text(row, 5) == "t",
                 .error_class = rows.text(row, 9),
                 .sqlstate = rows.text(row, 10),
                 .reason = rows.text(row, 11),
                 .attempts = static_cast<int>(rows.number(row, 12))});
        }
    }

    void read_skipped() {
        const Rows rows = query(
            "SELECT topic, partition, begin_offset, end_offset, xmin, reason"
            " FROM {schema}.skipped_ranges WHERE consumer_group = $1",
            {source_.consumer_group});
        evidence_.skipped.clear();
        for (int row = 0; row < rows.size(); ++row) {
            const int number = topic(rows.text(row, 0));
            if (number < 0) continue;
            evidence_.skipped.push_back(
                {.name = {number, static_cast<int>(rows.number(row, 1))},
                 .begin = rows.number(row, 2),
                 .end = rows.number(row, 3),
                 .transaction = static_cast<Transaction>(rows.number(row, 4)),
                 .reason = rows.text(row, 5)});
        }
    }

    void read_outbox() {
        const Rows rows = query("SELECT count(*) FROM {schema}.outbox WHERE consumer_group = $1",
                                {source_.consumer_group});
        evidence_.outbox_rows = rows.number(0, 0);
    }

    std::string column(const std::string& name) {
        return name.empty() ? "NULL" : session_.identifier(name);
    }

    void read_effects(const SinkTable& sink) {
        const int number = topic(sink.topic);
        if (number < 0) throw std::runtime_error("a sink of an unknown topic: " + sink.topic);
        std::string sql = "SELECT " + column(sink.id) + ", " + column(sink.partition) + ", " +
                          column(sink.offset) + ", " +
                          (sink.transaction.empty() ? "xmin" : column(sink.transaction)) + ", " +
                          column(sink.landed) + ", " + column(sink.key) + ", " +
                          column(sink.target) + " FROM " + sink.table;
        std::vector<std::string> values;
        if (!sink.topic_column.empty()) {
            sql += " WHERE " + column(sink.topic_column) + " = $1";
            values.push_back(sink.topic);
        }
        const Rows rows = session_.query(sql, values);
        evidence_.effects.reserve(evidence_.effects.size() + static_cast<std::size_t>(rows.size()));
        for (int row = 0; row < rows.size(); ++row) {
            evidence_.effects.push_back(
                {.id = static_cast<std::uint64_t>(rows.number(row, 0)),
                 .place = {number, static_cast<int>(rows.number(row, 1)), rows.number(row, 2)},
                 .transaction = static_cast<Transaction>(rows.number(row, 3)),
                 .landed = rows.number(row, 4),
                 .key = rows.bytes(row, 5),
                 .target = rows.bytes(row, 6)});
        }
    }

    void read_audit() {
        evidence_.settings.audited = audited();
        evidence_.moves.clear();
        evidence_.drops.clear();
        if (!evidence_.settings.audited) return;
        evidence_.moves = read_fence_moves(session_, source_, evidence_.topics, 0);
        evidence_.replay_moves =
            read_fence_moves(session_, source_, evidence_.topics, 0, MovesOf::replays);
        const Rows drops = query(
            "SELECT ledger, generation, (extract(epoch FROM sealed_at) * 1000000)::bigint,"
            " (extract(epoch FROM dropped_at) * 1000000)::bigint, fences"
            " FROM {schema}.checker_generation_drops");
        for (int row = 0; row < drops.size(); ++row) {
            GenerationDrop drop{.ledger = static_cast<int>(drops.number(row, 0)),
                                .generation = drops.number(row, 1),
                                .sealed_us = drops.number(row, 2),
                                .dropped_us = drops.number(row, 3)};
            for (const auto& fence : nlohmann::json::parse(drops.text(row, 4))) {
                const int number = topic(fence.at(1).get<std::string>());
                if (fence.at(0) != source_.consumer_group || number < 0) continue;
                drop.fences[{number, fence.at(2).get<int>()}] = fence.at(3).get<std::int64_t>();
            }
            evidence_.drops.push_back(std::move(drop));
        }
    }

    const DatabaseSource& source_;
    Evidence& evidence_;
    PgSession session_;
    std::unordered_map<std::string, int> topics_;
    std::vector<LogRow> log_rows_;
};

}  // namespace

std::vector<FenceMove> read_fence_moves(PgSession& session, const DatabaseSource& source,
                                        const std::vector<TopicSettings>& topics,
                                        std::int64_t newest, MovesOf whose) {
    std::unordered_map<std::string, int> numbers;
    for (std::size_t i = 0; i < topics.size(); ++i) numbers[topics[i].name] = static_cast<int>(i);
    std::string sql =
        "SELECT sequence, topic, partition, xmin, session, old_owner, new_owner, old_epoch,"
        " new_epoch, old_next, new_next, applied, duplicates, conflicts, dead_lettered, skipped,"
        " (extract(epoch FROM at) * 1000000)::bigint, by_operator"
        " FROM {schema}.checker_fence_moves WHERE ";
    sql += whose == MovesOf::the_group ? "consumer_group = $1"
                                       : "starts_with(consumer_group, $1 || ' replay ')";
    sql += " ORDER BY sequence DESC";
    if (newest > 0) sql += " LIMIT " + std::to_string(newest);
    const Rows rows =
        session.query(with_schema(sql, session.identifier(source.schema)), {source.consumer_group});
    std::vector<FenceMove> moves;
    moves.reserve(static_cast<std::size_t>(rows.size()));
    for (int row = rows.size() - 1; row >= 0; --row) {
        const auto topic = numbers.find(rows.text(row, 1));
        if (topic == numbers.end()) continue;
        moves.push_back(
            {.sequence = rows.number(row, 0),
             .name = {topic->second, static_cast<int>(rows.number(row, 2))},
             .transaction = static_cast<Transaction>(rows.number(row, 3)),
             .session = static_cast<int>(rows.number(row, 4)),
             .old_owner = rows.text(row, 5),
             .new_owner = rows.text(row, 6),
             .old_epoch = rows.number(row, 7),
             .new_epoch = rows.number(row, 8),
             .old_next = rows.number(row, 9),
             .new_next = rows.number(row, 10),
             .counted = {rows.number(row, 11), rows.number(row, 12), rows.number(row, 13),
                         rows.number(row, 14), rows.number(row, 15)},
             .at_us = rows.number(row, 16),
             .by_operator = rows.text(row, 17) == "t"});
    }
    return moves;
}

void load_database(const DatabaseSource& source, Evidence& evidence) {
    for (int tries = 1;; ++tries) {
        try {
            Loader(source, evidence).load();
            return;
        } catch (const DatabaseFailure& failure) {
            // 42P01: retention has just dropped a generation.
            if (failure.sqlstate() != "42P01" || tries == most_tries) throw;
        }
    }
}

void install_audit(const std::string& owner_dsn, const std::string& schema) {
    PgSession session(owner_dsn, connect_seconds);
    session.run(with_schema(std::string(sql::audit), session.identifier(schema)));
}

}  // namespace onceward::checker
