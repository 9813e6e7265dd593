// The sink's results: stored with their claims or not at all, and replayed to duplicates.

#include <future>
#include <thread>
#include <utility>

#include "dedup/operator/interventions.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

// Answers `done KEY`; a payload that begins with `fail` with a permanent failure; `long` with a
// kilobyte.
class AnsweringSink final : public Sink {
  public:
    explicit AnsweringSink(const std::string& table) : effects_(table) {}
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override {
        effects_.write(transaction, context, messages);
        results_.clear();
        for (const Message* message : messages) {
            const std::string_view payload = message->record.payload.value_or("");
            MessageResult& result = results_.emplace_back();
            result.status = 201;
            result.headers = {{"Content-Type", "text/plain"}, {"Set-Cookie", "a=b"}};
            result.body = "done " + std::string(message->key_text);
            if (payload.starts_with("long")) result.body.resize(1024, 'x');
            if (!payload.starts_with("fail")) continue;
            result.kind = MessageResult::Kind::failed;
            result.status = 422;
        }
        if (one_too_few) results_.pop_back();
    }
    std::vector<MessageResult> take_results() override { return std::exchange(results_, {}); }
    bool one_too_few = false;

  private:
    EffectSink effects_;
    std::vector<MessageResult> results_;
};

// Rows in place of the outbox's, in the same transaction.
class TableReplies final : public Replies {
  public:
    explicit TableReplies(std::string table) : table_(std::move(table)) {}
    void write(Transaction& transaction, std::span<const Reply> replies) override {
        under_lock += transaction
                          .query(
                              "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
                              "classid = 1330524999 AND mode = 'ExclusiveLock' AND pid = "
                              "pg_backend_pid()",
                              {})
                          .integer(0, 0);
        for (const Reply& reply : replies) {
            std::string headers;
            for (const auto& [name, value] : reply.headers) headers += name + "=" + value + ";";
            transaction.query("INSERT INTO " + table_ +
                                  " (topic, key, headers, body, id) VALUES ($1, $2, $3, $4, $5)",
                              Parameters{}
                                  .text(reply.topic)
                                  .optional_text(reply.key)
                                  .text(headers)
                                  .text(reply.body)
                                  .digest(reply.id));
        }
    }
    std::int64_t under_lock = 0;  // writes with the ledger's lock in hand

  private:
    std::string table_;
};

class ResultsTest : public LedgerTest {
  protected:
    CoreWorkerOptions answering(const std::string& name = "worker") {
        CoreWorkerOptions mine = options(name);
        mine.answers.emplace();
        mine.answers->reply.topic = "replies";
        mine.replies = &replies_;
        return mine;
    }
    std::int64_t results(const std::string& where = "true", int generation = 1) {
        // Two workers that register the ledger at once may use up its first number.
        return database().number("SELECT count(*) FROM results_" +
                                 value("SELECT max(ledger) FROM ledgers") + "_" +
                                 std::to_string(generation) + " WHERE " + where);
    }
    // Bodies in the order in which they were written, a replayed one with an asterisk.
    std::vector<std::string> replied() {
        std::vector<std::string> bodies;
        for (const Row& row : database().execute(
                 "SELECT body || CASE WHEN headers LIKE '%onceward-replayed=true;%' THEN '*' ELSE "
                 "'' END FROM replies ORDER BY position")) {
            bodies.push_back(row[0].value());
        }
        return bodies;
    }
    std::string value(const std::string& sql) { return database().value(sql); }

    AnsweringSink answers_{table_};
    std::string reply_table_ = schema_.user_table(
        "replies",
        "position bigint GENERATED ALWAYS AS IDENTITY, topic text, key text, headers text, body "
        "text, id uuid");
    TableReplies replies_{reply_table_};
};

TEST_P(ResultsTest, AResultIsStoredWithItsClaimOrNotAtAll) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 20);
    int tries = 0;
    std::int64_t seen = -1;
    StepHook hook([&](Step step) {
        if (step != Step::before_commit || ++tries > 1) return;
        seen = results();
        throw PostgresError({.sqlstate = "08006",
                             .message = "for the test",
                             .constraint = {},
                             .column = {},
                             .routine = {},
                             .connection_lost = true});
    });
    CoreWorkerOptions mine = answering();
    mine.observer = &hook;
    CoreWorker worker(log, answers_, mine);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(seen, 0) << "seen from another session before COMMIT";
    EXPECT_GE(tries, 2);
    EXPECT_EQ(results(), 20);
    EXPECT_EQ(results("kind = 'done' AND status = 201 AND tenant = '' AND headers = "
                      "'[{\"name\": \"content-type\", \"value\": \"text/plain\"}]'"),
              20);
    EXPECT_EQ(results("xmin::text <> (SELECT min(xmin::text) FROM " + table_ + ")"), 0);
    EXPECT_EQ(value("SELECT convert_from(body, 'UTF8') FROM results_1_1 WHERE digest = '" +
                    uuid_text(scripted_digest("k7")) + "'"),
              "done k7");
    expect_no_violations(log);
}

TEST_P(ResultsTest, ADuplicateIsRepliedToWithTheStoredResult) {
    ScriptedLog log(1);
    log.append(0, {.key = "a", .record_key = "r1"});
    log.append(0, {.key = "b"});
    CoreWorkerOptions mine = answering();
    CoreWorker worker(log, answers_, mine);
    ASSERT_TRUE(worker.run());
    EXPECT_THAT(replied(), ElementsAre("done a", "done b"));
    log.append(0, {.key = "a", .record_key = "r2"});
    ASSERT_TRUE(worker.run());
    EXPECT_THAT(replied(), ElementsAre("done a", "done b", "done a*"));
    CoreWorker late(log, answers_, answering("late"));
    log.append(0, {.key = "b"});
    ASSERT_TRUE(late.run());
    EXPECT_THAT(replied(), ElementsAre("done a", "done b", "done a*", "done b*"));
    EXPECT_EQ(value("SELECT string_agg(key || headers, ' ' ORDER BY position) FROM replies WHERE "
                    "key IN ('r1', 'r2')"),
              "r1content-type=text/plain;onceward-status=201; "
              "r2content-type=text/plain;onceward-status=201;onceward-replayed=true;");
    EXPECT_EQ(value("SELECT count(DISTINCT id) || ' ' || min(topic) FROM replies"), "4 replies");
    EXPECT_EQ(results(), 2);
}

TEST_P(ResultsTest, AlsoWithinOneBatch) {
    ScriptedLog log(1);
    for (const char* key : {"a", "b", "a", "a"}) log.append(0, {.key = key});
    CoreWorker worker(log, answers_, answering());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals, (Totals{.applied = 2, .duplicates = 2}));
    EXPECT_THAT(replied(), ElementsAre("done a", "done b", "done a*", "done a*"));
    EXPECT_EQ(value("SELECT count(DISTINCT id) FROM replies"), "4");
}

TEST_P(ResultsTest, AConflictIsNoDuplicateAndGetsNoReply) {
    ScriptedLog log(1);
    log.append(0, {.key = "a", .fingerprint = digest_of_bytes("1")});
    log.append(0, {.key = "a", .fingerprint = digest_of_bytes("2")});
    CoreWorker worker(log, answers_, answering());
    ASSERT_TRUE(worker.run());
    EXPECT_THAT(replied(), ElementsAre("done a"));
}

TEST_P(ResultsTest, APermanentFailureIsReplayedToo) {
    ScriptedLog log(1);
    log.append(0, {.key = "a", .payload = "fail"});
    CoreWorker worker(log, answers_, answering());
    ASSERT_TRUE(worker.run());
    log.append(0, {.key = "a", .payload = "now it would be fine"});
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(results("kind = 'failed' AND status = 422"), 1);
    EXPECT_EQ(value("SELECT count(*) FROM replies WHERE headers LIKE '%onceward-failed=true;%' AND "
                    "headers LIKE '%onceward-status=422;%'"),
              "2");
}

TEST_P(ResultsTest, AResultThatIsTooLargeLosesItsBodyForAll) {
    ScriptedLog log(1);
    log.append(0, {.key = "a", .payload = "long"});
    log.append(0, {.key = "a"});
    CoreWorkerOptions mine = answering();
    mine.answers->limits.max_bytes = 100;
    CoreWorker worker(log, answers_, mine);
    ASSERT_TRUE(worker.run());
    EXPECT_THAT(replied(), ElementsAre("", "*"));
    EXPECT_EQ(value("SELECT count(*) FROM replies WHERE headers LIKE "
                    "'onceward-body-dropped=1024;%'"),
              "2");
    EXPECT_EQ(worker.totals, (Totals{.applied = 1, .duplicates = 1}));
}

TEST_P(ResultsTest, OrTakesItsMessageToTheDeadLetters) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 3);
    log.append(0, {.key = "a", .payload = "long"});
    append_keys(log, 0, "l", 3);
    CoreWorkerOptions mine = answering();
    mine.answers->limits.max_bytes = 100;
    mine.answers->limits.on_too_large = ResultLimits::TooLarge::reject;
    CoreWorker worker(log, answers_, mine);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals, (Totals{.applied = 6, .dead_lettered = 1}));
    EXPECT_EQ(value("SELECT sqlstate FROM dead_letters"), "54000");
    EXPECT_EQ(effects("key = 'a'"), 0);
    EXPECT_EQ(results(), 6);
    log.append(0, {.key = "a"});
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(effects("key = 'a'"), 1) << "it held no claim";
}

TEST_P(ResultsTest, AKeyWithoutAStoredResultHasNoReply) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    CoreWorker before(log, sink_, options());
    ASSERT_TRUE(before.run());
    log.append(0, {.key = "a"});
    log.append(0, {.key = "b"});
    CoreWorker worker(log, answers_, answering());
    ASSERT_TRUE(worker.run());
    EXPECT_THAT(replied(), ElementsAre("done b"));
    EXPECT_EQ(worker.totals, (Totals{.applied = 1, .duplicates = 1}));
}

TEST_P(ResultsTest, ASinkThatAnswersForFewerMessagesDoesNotFit) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 3);
    answers_.one_too_few = true;
    CoreWorker worker(log, answers_, answering());
    EXPECT_THROW(worker.run(), SinkMismatch);
    EXPECT_EQ(effects(), 0);
}

// While the neighbour commits, its key is met as a duplicate; its result is there once it has.
TEST_P(ResultsTest, WorkersThatMeetTheSameKeysReplyToEachOnce) {
    constexpr int keys = 300;
    ScriptedLog log(2);
    append_keys(log, 0, "k", keys);
    append_keys(log, 1, "k", keys);
    std::vector<std::thread> threads;
    std::atomic<int> done{0};
    for (const int partition : {0, 1}) {
        threads.emplace_back([&, partition] {
            AnsweringSink sink(table_);
            TableReplies replies(reply_table_);
            CoreWorkerOptions mine = answering("worker" + std::to_string(partition));
            mine.partitions = {partition};
            mine.batch_messages = 7;
            mine.replies = &replies;
            CoreWorker worker(log, sink, mine);
            if (worker.run()) ++done;
        });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(done, 2);
    EXPECT_EQ(results(), keys);
    EXPECT_EQ(value("SELECT count(*) FROM replies"), std::to_string(2 * keys));
    EXPECT_EQ(value("SELECT count(*) FROM replies WHERE headers LIKE '%onceward-replayed%'"),
              std::to_string(keys));
    EXPECT_EQ(value("SELECT count(DISTINCT id) FROM replies"), std::to_string(2 * keys));
    expect_no_violations(log);
}

// All workers of the ledger wait for that lock, and a result may be large.
TEST_P(ResultsTest, NoResultIsReadWhileTheLedgersLockIsHeld) {
    // Elsewhere a key in a neighbour's hands is no duplicate before that one's COMMIT.
    if (GetParam() != LedgerCase::log_in_one_process) return;
    ScriptedLog log(2);
    log.append(0, {.key = "same"});
    log.append(1, {.key = "same"});
    log.append(1, {.key = "own"});
    std::promise<void> first_wrote, second_wrote;
    bool holds = true;
    StepHook at_first([&](Step step) {
        if (step != Step::after_sink || !std::exchange(holds, false)) return;
        first_wrote.set_value();
        second_wrote.get_future().wait();
    });
    bool waited_for = true;
    StepHook at_second([&](Step step) {
        if (step == Step::after_sink && std::exchange(waited_for, false)) second_wrote.set_value();
    });
    std::thread first([&] {
        AnsweringSink sink(table_);
        TableReplies replies(reply_table_);
        CoreWorkerOptions mine = answering("first");
        mine.partitions = {0};
        mine.replies = &replies;
        mine.observer = &at_first;
        CoreWorker worker(log, sink, mine);
        EXPECT_TRUE(worker.run());
    });
    first_wrote.get_future().wait();
    CoreWorkerOptions mine = answering("second");
    mine.partitions = {1};
    mine.observer = &at_second;
    CoreWorker worker(log, answers_, mine);
    EXPECT_TRUE(worker.run());
    first.join();
    EXPECT_THAT(replied(), ::testing::UnorderedElementsAre("done same", "done own", "done same*"));
    EXPECT_EQ(replies_.under_lock, 0);
}

TEST_P(ResultsTest, ALedgerThatIsRotatedMeanwhileKeepsBothInOneGeneration) {
    if (GetParam() == LedgerCase::table) return;  // There the claims' lock keeps rotation away.
    ScriptedLog log(1);
    append_keys(log, 0, "k", 5);
    bool rotated = false;
    StepHook hook([&](Step step) {
        if (step != Step::after_sink || std::exchange(rotated, true)) return;
        database().execute("SELECT rotate_ledger(1, 1)");
    });
    CoreWorkerOptions mine = answering();
    mine.observer = &hook;
    CoreWorker worker(log, answers_, mine);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(results("true", 1), 0);
    EXPECT_EQ(results("true", 2), 5);
    expect_no_violations(log);
}

TEST_P(ResultsTest, AResultGoesWithItsGeneration) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 5);
    CoreWorker worker(log, answers_, answering());
    ASSERT_TRUE(worker.run());
    database().execute("SELECT rotate_ledger(1, 1)");
    log.append(0, {.key = "k1"});
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(replied().back(), "done k1*");
    database().execute("DELETE FROM generations WHERE ledger = 1 AND generation = 1");
    EXPECT_EQ(value("SELECT string_agg(g::text, ' ') FROM orphaned_generations(1) AS g"), "1");
    // Retention moves a log's floor as well, which its workers see; here they forget with the
    // session.
    worker.lose_connection();
    log.append(0, {.key = "k1", .payload = "fail"});
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(results("kind = 'failed'", 2), 1) << "applied again, with another result";
    log.append(0, {.key = "k1"});
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(value("SELECT count(*) FROM replies WHERE headers LIKE '%failed%'"), "2");
    database().execute("SELECT drop_generation(1, 1)");
    EXPECT_EQ(value("SELECT to_regclass('results_1_1') IS NULL AND to_regclass('claims_1_1') IS "
                    "NULL AND to_regclass('results_1_2') IS NOT NULL"),
              "t");
}

TEST_P(ResultsTest, WithAClaimThatIsTakenOutGoesItsResult) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 3);
    CoreWorker worker(log, answers_, answering());
    ASSERT_TRUE(worker.run());
    Connection owner(schema_.owner());
    const Digest digest = scripted_digest("k1");
    ASSERT_EQ(evict(owner, 1, {&digest, 1}, "a test", 5s), 1);
    EXPECT_EQ(results(), 2);
    log.append(0, {.key = "k1", .payload = "fail"});
    log.append(0, {.key = "k1"});
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(value("SELECT count(*) FROM replies WHERE headers LIKE '%failed%'"), "2");
}

INSTANTIATE_TEST_SUITE_P(Ledgers, ResultsTest, every_ledger, name_of);

}  // namespace
}  // namespace onceward::support
