// The table store against a real server: verdicts under concurrency and across rotations.

#include "dedup/claims/table_store.h"

#include <future>
#include <map>
#include <mutex>
#include <random>

#include "dedup/ledger/ledger.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

Claim claim(const std::string& key, std::optional<Digest> fingerprint = std::nullopt) {
    return {scripted_digest(key), fingerprint, Partition{0}, Offset{0}};
}

class TableStoreTest : public CoreTest {
  protected:
    TableStoreTest() {
        Connection connection(schema_.worker());
        LedgerOptions ledger;
        ledger.name = "ledger";
        registered_ = register_ledger(connection, ledger, "group", "topic");
    }
    // One session with its store.
    struct Session {
        Connection connection;
        TableStore store;
        Session(const ConnectionOptions& options, const RegisteredLedger& registered)
            : connection(options), store(registered.ledger, registered.source) {}
        int redone = 0;
        ClaimAnswer ask(const Claim& wanted) { return ask_all({&wanted, 1})[0]; }
        // As the processor does it, until there is an answer.
        std::vector<ClaimAnswer> ask_all(std::span<const Claim> wanted) {
            while (true) {
                OwnedTransaction transaction(connection);
                const auto answers = store.claim(transaction, wanted);
                if (!answers) {
                    ++redone;
                    continue;
                }
                transaction.commit();
                return *answers;
            }
        }
    };
    Session session(const std::string& name = "onceward") {
        return {named(name), registered_};
    }
    void rotate() {
        database().execute(
            "SELECT rotate_ledger(max(ledger), max(generation)) FROM generations");
    }

    RegisteredLedger registered_;
};

TEST_F(TableStoreTest, AKeyIsFreshOnceAndAcrossRotations) {
    Session session = this->session();
    EXPECT_EQ(session.ask(claim("k")).verdict, Verdict::fresh);
    EXPECT_EQ(session.ask(claim("k")).verdict, Verdict::duplicate);
    for (int rotation = 0; rotation < 3; ++rotation) {
        rotate();
        EXPECT_EQ(session.ask(claim("k")).verdict, Verdict::duplicate);
        EXPECT_EQ(session.ask(claim("j" + std::to_string(rotation))).verdict, Verdict::fresh);
    }
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 1);
}

TEST_F(TableStoreTest, AnotherFingerprintIsAConflictInEveryGeneration) {
    Session session = this->session();
    const Digest one = digest_of_bytes("1"), two = digest_of_bytes("2");
    EXPECT_EQ(session.ask(claim("k", one)).verdict, Verdict::fresh);
    EXPECT_EQ(session.ask(claim("k", two)).verdict, Verdict::conflict);
    EXPECT_EQ(session.ask(claim("k", one)).verdict, Verdict::duplicate);
    EXPECT_EQ(session.ask(claim("k")).verdict, Verdict::duplicate);
    rotate();
    EXPECT_EQ(session.ask(claim("k", two)).verdict, Verdict::conflict);
    EXPECT_EQ(session.ask(claim("k", one)).fingerprint, one);
}

TEST_F(TableStoreTest, ARolledBackClaimIsFreshAgain) {
    Session session = this->session();
    const Claim wanted = claim("k");
    {
        OwnedTransaction transaction(session.connection);
        session.store.claim(transaction, std::span(&wanted, 1));
    }
    EXPECT_EQ(session.ask(wanted).verdict, Verdict::fresh);
}

// Lock and look in one statement: its snapshot is older than the lock, so that the claim would go
// into the generation that has been sealed meanwhile.
TEST_F(TableStoreTest, ARotationThatWasWaitedForIsSeen) {
    database().execute("BEGIN; SELECT rotate_ledger(1, 1)");
    Session session = this->session("claimer");
    std::future<ClaimAnswer> answer =
        std::async(std::launch::async, [&] { return session.ask(claim("k")); });
    ASSERT_TRUE(eventually(10s, [&] { return waits_for_lock("claimer"); }));
    database().execute("COMMIT");
    EXPECT_EQ(answer.get().verdict, Verdict::fresh);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_2"), 1);
}

// Many new keys are copied; if one of them is there already, the COPY writes none of them.
TEST_F(TableStoreTest, ManyKeysGetTheirVerdictsWhateverIsThereAlready) {
    Session session = this->session();
    const auto ask = [&](int first, int end, const std::string& fingerprint) {
        std::vector<Claim> claims;
        for (int i = first; i < end; ++i) {
            claims.push_back(claim("k" + std::to_string(i), digest_of_bytes(fingerprint)));
        }
        std::ranges::sort(claims, {}, &Claim::digest);
        std::map<Verdict, int> verdicts;
        for (const ClaimAnswer& answer : session.ask_all(claims)) ++verdicts[answer.verdict];
        return verdicts;
    };
    using Verdicts = std::map<Verdict, int>;
    EXPECT_EQ(ask(0, 500, "1"), (Verdicts{{Verdict::fresh, 500}}));
    EXPECT_EQ(session.redone, 0);
    EXPECT_EQ(ask(400, 900, "1"), (Verdicts{{Verdict::fresh, 400}, {Verdict::duplicate, 100}}));
    EXPECT_EQ(session.redone, 1);
    EXPECT_EQ(ask(899, 1400, "2"), (Verdicts{{Verdict::fresh, 500}, {Verdict::conflict, 1}}));
    EXPECT_EQ(ask(1400, 1900, "1"), (Verdicts{{Verdict::fresh, 500}}));
    EXPECT_EQ(ask(1400, 2000, "1"), (Verdicts{{Verdict::fresh, 100}, {Verdict::duplicate, 500}}));
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 2000);
    EXPECT_EQ(database().number("SELECT min(record_offset) FROM claims_1_1 WHERE source = " +
                                std::to_string(registered_.source)),
              0);
}

// The winner commits after the insert's snapshot: read in the same statement its fingerprint is not
// there, and the conflict would be taken for a duplicate.
TEST_F(TableStoreTest, TheFingerprintOfAWinnerThatWasWaitedForIsRead) {
    Session winner = session("winner"), loser = session("loser");
    const Claim first = claim("k", digest_of_bytes("1"));
    OwnedTransaction transaction(winner.connection);
    winner.store.claim(transaction, std::span(&first, 1));
    std::future<ClaimAnswer> answer =
        std::async(std::launch::async, [&] { return loser.ask(claim("k", digest_of_bytes("2"))); });
    ASSERT_TRUE(eventually(10s, [&] { return waits_for_lock("loser"); }));
    transaction.commit();
    const ClaimAnswer said = answer.get();
    EXPECT_EQ(said.verdict, Verdict::conflict);
    EXPECT_EQ(said.fingerprint, digest_of_bytes("1"));
}

// A claim that waited for one that was rolled back is fresh.
TEST_F(TableStoreTest, ALoserWhoseWinnerRollsBackIsFresh) {
    Session winner = session("winner"), loser = session("loser");
    const Claim wanted = claim("k");
    std::future<ClaimAnswer> answer;
    {
        OwnedTransaction transaction(winner.connection);
        winner.store.claim(transaction, std::span(&wanted, 1));
        answer = std::async(std::launch::async, [&] { return loser.ask(wanted); });
        ASSERT_TRUE(eventually(10s, [&] { return waits_for_lock("loser"); }));
    }
    EXPECT_EQ(answer.get().verdict, Verdict::fresh);
}

// Claimed in the order of the messages, opposite orders end in 40P01 within a few batches.
TEST_F(TableStoreTest, OppositeKeyOrdersInTwoWorkersNeverDeadlock) {
    constexpr int blocks = 30, size = 1000;
    ScriptedLog log(2);
    for (int block = 0; block < blocks; ++block) {
        const std::string prefix = std::to_string(block) + "-";
        append_keys(log, 0, prefix, size);
        for (int i = size; i-- > 0;) log.append(1, {.key = prefix + std::to_string(i)});
    }
    std::atomic<int> ready{0};
    std::vector<std::unique_ptr<CoreWorker>> workers;
    std::vector<std::thread> threads;
    for (const int partition : {0, 1}) {
        CoreWorkerOptions mine = options("worker " + std::to_string(partition));
        mine.partitions = {partition};
        // the one that waits for the other begins its next block with it
        mine.batch_messages = size;
        workers.push_back(std::make_unique<CoreWorker>(log, sink_, mine));
    }
    for (const auto& worker : workers) {
        threads.emplace_back([&] {
            worker->connect();
            worker->take_fences();
            ++ready;
            eventually(10s, [&] { return ready == 2; });
            EXPECT_TRUE(worker->run());
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& worker : workers) EXPECT_EQ(worker->failures["40P01"], 0);
    expect_no_violations(log);
}

// A commit of a worker: what it passed, and which generation was current then.
struct Passed {
    Span span;
    std::int64_t generation;
};

// The same keys in each of four partitions, near each other, so that one is repeated before, at and
// after a rotation.
void append_shuffled(ScriptedLog& log, int keys) {
    std::mt19937_64 random(seed());
    for (int partition = 0; partition < 4; ++partition) {
        std::vector<int> order(keys);
        for (int i = 0; i < keys; ++i) order[static_cast<std::size_t>(i)] = i;
        for (std::size_t i = 0; i + 500 < order.size(); ++i) {
            std::swap(order[i], order[i + random() % 500]);
        }
        for (const int key : order) log.append(partition, {.key = std::to_string(key)});
    }
}

// How many duplicates straddled a boundary: their claim lies in an older generation than was
// current for them.
std::int64_t count_straddled(Database& database, const ScriptedLog& log,
                             const std::vector<Passed>& passed) {
    std::map<std::string, std::int64_t> claimed_in;
    for (const Row& row :
         database.execute("SELECT generation, ledger FROM generations ORDER BY 1")) {
        const std::string claims = "claims_" + *row[1] + "_" + *row[0];
        for (const Row& key :
             database.execute("SELECT key FROM effects JOIN " + claims + " USING (digest)")) {
            claimed_in[*key[0]] = std::stoll(*row[0]);
        }
    }
    std::int64_t straddled = 0;
    for (const Passed& commit : passed) {
        const auto& entries = log.entries(commit.span.partition.raw());
        for (auto entry = entries.lower_bound(commit.span.begin.raw());
             entry != entries.end() && entry->first < commit.span.end.raw(); ++entry) {
            straddled += claimed_in.at(entry->second.key) < commit.generation ? 1 : 0;
        }
    }
    return straddled;
}

TEST_F(TableStoreTest, UniquenessIsExactWhileTheLedgerRotates) {
    constexpr int keys = 15'000;
    ScriptedLog log(4);
    append_shuffled(log, keys);
    std::mutex mutex;
    std::vector<Passed> passed;
    std::vector<std::thread> threads;
    // A worker that commits rotates now and then, while the others are in their batches.
    Database rotator(schema_.server().dsn);
    rotator.execute("SET search_path = " + schema_.name());
    std::mutex rotating;
    int commits = 0;
    int rotations = 0;
    const auto rotate = [&] {
        const std::lock_guard lock(rotating);
        if (++commits % 25 != 0) return;
        rotator.execute("SELECT rotate_ledger(1, (SELECT max(generation) FROM generations))");
        ++rotations;
    };
    for (int partition = 0; partition < 4; ++partition) {
        threads.emplace_back([&, partition] {
            CoreWorkerOptions mine = options("worker " + std::to_string(partition));
            mine.partitions = {partition};
            mine.batch_messages = 100;
            std::int64_t generation = 0;
            CoreWorker* self = nullptr;
            StepHook look([&](Step step) {
                if (step == Step::after_commit) rotate();
                if (step != Step::after_claims) return;
                generation = self->connection()
                                 .query("SELECT max(generation) FROM {schema}.generations", {})
                                 .integer(0, 0);
            });
            mine.observer = &look;
            mine.on_commit = [&](const FenceMove& move) {
                const std::lock_guard lock(mutex);
                passed.push_back({move.span, generation});
            };
            CoreWorker worker(log, sink_, mine);
            self = &worker;
            EXPECT_TRUE(worker.run());
        });
    }
    for (std::thread& thread : threads) thread.join();
    expect_no_violations(log);
    ASSERT_GE(rotations, 4);

    const std::int64_t straddled = count_straddled(database(), log, passed);
    std::cout << rotations << " rotations, " << straddled << " duplicates straddled a boundary\n";
    EXPECT_GT(straddled, 0) << "the test did not reach what it is about";
}

}  // namespace
}  // namespace onceward::support
