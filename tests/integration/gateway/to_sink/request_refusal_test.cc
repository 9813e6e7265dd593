// What happens to requests that PostgreSQL refuses or is too slow for, and to the others.

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <optional>

#include "gateway/to_sink/sink_batcher.h"
#include "gateway/to_sink/sink_session.h"
#include "tests/integration/gateway/order_sink.h"
#include "tests/support/core_harness.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

// Waits for a notification in the requests' transaction, as no sink may.
class CarelessSink final : public Sink {
  public:
    void write(Transaction& transaction, const BatchContext&,
               std::span<const Message* const>) override {
        transaction.connection().notified(0ms);
    }
};

class RequestRefusalTest : public ::testing::TestWithParam<StoreKind> {
  protected:
    // Runs for each row before it is inserted.
    void on_insert(const std::string& statements) {
        schema_.database().execute(
            "CREATE FUNCTION judge() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + statements +
            " RETURN new; END $$; CREATE TRIGGER judges BEFORE INSERT ON " + table_ +
            " FOR EACH ROW EXECUTE FUNCTION judge()");
    }
    void fill(WaitingRequest& one, int number, const std::string& body) const {
        const std::string key = std::to_string(number);
        one.request = order(key, body);
        one.attempt = digest_of_bytes("attempt" + key);
        one.deadline = std::chrono::steady_clock::now() + options_.longest_request;
        one.wait_until = one.deadline;
    }
    static std::string in_short(const KeyedOutcome& outcome) {
        if (const auto* problem = std::get_if<Problem>(&outcome)) {
            return std::to_string(status_of(problem->kind));
        }
        return std::get<KeyedAnswer>(outcome).result.body.substr(0, 4);
    }
    // What became of so many requests that are given together; the answers, with how many got each.
    // One of 20 is bad.
    std::map<std::string, int> carry_out(int count) {
        if (!session_) {
            options_.observer = &steps_;
            session_.emplace(options_, stop_.get_token());
        }
        std::deque<WaitingRequest> waiting;
        std::vector<WaitingRequest*> requests;
        for (int i = 0; i < count; ++i) {
            fill(waiting.emplace_back(), given_++, i % 20 == bad_one_ ? "bad" : "good");
            requests.push_back(&waiting.back());
        }
        begun_ = 0;
        session_->carry_out(requests);
        std::map<std::string, int> said;
        for (const WaitingRequest& one : waiting) ++said[in_short(one.outcome)];
        return said;
    }
    // The same request as the one of that number, in another process.
    std::string carry_out_elsewhere(int number) {
        const SinkBatcherOptions options = order_batcher(schema_, table_, GetParam());
        SinkSession elsewhere(options, stop_.get_token());
        WaitingRequest same;
        fill(same, number, "good");
        same.attempt = digest_of_bytes("elsewhere");
        elsewhere.carry_out({&same});
        return in_short(same.outcome);
    }
    std::int64_t rows() { return schema_.database().number("SELECT count(*) FROM " + table_); }
    std::int64_t claims() { return schema_.database().number("SELECT count(*) FROM results_1_1"); }

    FreshSchema schema_;
    std::string table_ = schema_.user_table("orders", "key text, body text");
    SinkBatcherOptions options_ = order_batcher(schema_, table_, GetParam());
    std::stop_source stop_;
    int bad_one_ = 7;
    int given_ = 0;
    int begun_ = 0;                    // transactions of the last batch
    std::function<void()> meanwhile_;  // once, between the claims and the sink
    StepHook steps_{[this](Step step) {
        begun_ += step == Step::before_begin ? 1 : 0;
        if (step != Step::after_claims) return;
        if (const auto now = std::exchange(meanwhile_, nullptr)) now();
    }};
    std::optional<SinkSession> session_;
};

TEST_P(RequestRefusalTest, AUsersOwnSqlstateIsTheAnswerOfOneRequest) {
    on_insert("IF new.key = '50' THEN RAISE EXCEPTION USING ERRCODE = 'SH001'; END IF;");
    EXPECT_THAT(carry_out(100), ElementsAre(Pair("422", 1), Pair("made", 99)));
    EXPECT_EQ(rows(), 99);
    EXPECT_EQ(claims(), 99);
}

// 55P03 is what PostgreSQL says of a lock, but nothing is locked here.
TEST_P(RequestRefusalTest, AFunctionThatAlwaysAsksForAnotherTryGetsNoMoreThanItsNumber) {
    on_insert("IF new.key = '5' THEN RAISE EXCEPTION USING ERRCODE = '55P03'; END IF;");
    EXPECT_THAT(carry_out(10), ElementsAre(Pair("422", 1), Pair("made", 9)));
    EXPECT_EQ(rows(), 9);
    EXPECT_EQ(claims(), 9);
}

// Nobody can tell whether it will pass, and the others do not wait for that.
TEST_P(RequestRefusalTest, AFaultOfTheTableThatOneRequestMeetsIsA503OfThatOneAlone) {
    on_insert("IF new.key = '50' THEN EXECUTE 'SELECT 1 FROM none'; END IF;");
    EXPECT_THAT(carry_out(100), ElementsAre(Pair("503", 1), Pair("made", 99)));
    EXPECT_EQ(rows(), 99);
    EXPECT_EQ(claims(), 99);
}

TEST_P(RequestRefusalTest, AFaultOfTheTableThatManyRequestsMeetIsA503OfTheseAlone) {
    on_insert("IF new.body = 'bad' THEN EXECUTE 'SELECT 1 FROM none'; END IF;");
    EXPECT_THAT(carry_out(200), ElementsAre(Pair("503", 10), Pair("made", 190)));
    EXPECT_EQ(rows(), 190);
    EXPECT_EQ(claims(), 190);
}

// The first parts have 25 requests each, so no part passes as a whole.
TEST_P(RequestRefusalTest, AFaultOfTheTableInEachPartOfABatchIsA503OfItsRequestsAlone) {
    on_insert("IF new.body = 'bad' THEN EXECUTE 'SELECT 1 FROM none'; END IF;");
    EXPECT_THAT(carry_out(400), ElementsAre(Pair("503", 20), Pair("made", 380)));
    EXPECT_EQ(rows(), 380);
    EXPECT_EQ(claims(), 380);
}

// The first parts have two requests each.
TEST_P(RequestRefusalTest, AFaultOfTheTableOfEachSecondRequestIsA503OfTheseAlone) {
    on_insert("IF new.key::integer % 2 = 0 THEN EXECUTE 'SELECT 1 FROM none'; END IF;");
    EXPECT_THAT(carry_out(32), ElementsAre(Pair("503", 16), Pair("made", 16)));
    EXPECT_EQ(rows(), 16);
}

TEST_P(RequestRefusalTest, ARowThatIsRefusedIsA422AlsoIfAllOthersMeetAFaultOfTheTable) {
    on_insert(
        "IF new.body = 'bad' THEN RAISE EXCEPTION USING ERRCODE = 'SH001'; END IF; "
        "EXECUTE 'SELECT 1 FROM none';");
    EXPECT_THAT(carry_out(16), ElementsAre(Pair("422", 1), Pair("503", 15)));
    EXPECT_EQ(rows(), 0);
}

TEST_P(RequestRefusalTest, AMissingPartitionOfOneTenantIsA503OfItsRequestsAlone) {
    schema_.database().execute(
        "CREATE TABLE tenants (name text) PARTITION BY LIST (name); "
        "GRANT INSERT ON tenants TO PUBLIC");
    on_insert("IF new.body = 'bad' THEN INSERT INTO " + schema_.name() +
              ".tenants VALUES ('bad'); END IF;");
    EXPECT_THAT(carry_out(200), ElementsAre(Pair("503", 10), Pair("made", 190)));
    EXPECT_EQ(rows(), 190);
}

TEST_P(RequestRefusalTest, AFaultOfTheTableThatAllMeetIsFoundInAFewTries) {
    schema_.database().execute("CREATE SEQUENCE tries; GRANT USAGE ON SEQUENCE tries TO PUBLIC");
    on_insert("PERFORM nextval('" + schema_.name() + ".tries'); EXECUTE 'SELECT 1 FROM none';");
    EXPECT_THAT(carry_out(300), ElementsAre(Pair("503", 300)));
    EXPECT_LT(schema_.database().number("SELECT last_value FROM tries"), 40);
}

// A transaction each for every half would be some hundred here.
TEST_P(RequestRefusalTest, RefusedRequestsAreFoundWithoutATransactionForEachHalf) {
    on_insert("IF new.body = 'bad' THEN RAISE EXCEPTION 'no'; END IF;");
    EXPECT_THAT(carry_out(200), ElementsAre(Pair("422", 10), Pair("made", 190)));
    EXPECT_LE(begun_, 6);
    EXPECT_EQ(rows(), 190);
    EXPECT_EQ(claims(), 190);
}

TEST_P(RequestRefusalTest, WhereTheLastBatchHadRefusedOnesTheNextIsSearchedBeforeItIsWritten) {
    on_insert("IF new.body = 'bad' THEN RAISE EXCEPTION 'no'; END IF;");
    EXPECT_THAT(carry_out(100), ElementsAre(Pair("422", 5), Pair("made", 95)));
    EXPECT_EQ(begun_, 3);  // all, the search, the good ones
    EXPECT_THAT(carry_out(100), ElementsAre(Pair("422", 5), Pair("made", 95)));
    EXPECT_EQ(begun_, 2);
    bad_one_ = -1;
    EXPECT_THAT(carry_out(100), ElementsAre(Pair("made", 100)));
    EXPECT_EQ(begun_, 2);
    EXPECT_THAT(carry_out(100), ElementsAre(Pair("made", 100)));
    EXPECT_EQ(begun_, 1);
    EXPECT_EQ(rows(), 390);
    EXPECT_EQ(claims(), 390);
}

// Together they are too slow for the statement's limit, and none of them is alone.
TEST_P(RequestRefusalTest, ABatchThatTimesOutIsTriedInHalves) {
    on_insert("PERFORM pg_sleep(0.03);");
    options_.postgres.statement_timeout = 1500ms;
    options_.longest_request = 20s;
    EXPECT_THAT(carry_out(120), ElementsAre(Pair("made", 120)));
    EXPECT_EQ(rows(), 120);
}

TEST_P(RequestRefusalTest, ARequestThatIsTooSlowAloneIsA503AndTheOthersDoNotWaitForItsDeadline) {
    on_insert("IF new.key = '50' THEN PERFORM pg_sleep(60); END IF;");
    options_.postgres.statement_timeout = 1s;
    options_.longest_request = 60s;
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_THAT(carry_out(100), ElementsAre(Pair("503", 1), Pair("made", 99)));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 45s);
    EXPECT_EQ(rows(), 99);
    EXPECT_EQ(claims(), 99);
}

// Another session has the rows of the items `locked` and `locked too`, which each request of that
// key needs.
class LockedRowTest : public RequestRefusalTest {
  protected:
    LockedRowTest() {
        const std::string stock = schema_.user_table("stock", "item text");
        schema_.database().execute("INSERT INTO " + stock + " VALUES ('locked'), ('locked too')");
        on_insert("PERFORM 1 FROM " + stock + " WHERE item = new.key FOR UPDATE;");
        holder_.execute("BEGIN; SELECT 1 FROM " + stock + " FOR UPDATE");
    }
    static std::future<std::string> submit(SinkBatcher& batcher, const std::string& key) {
        auto promise = std::make_shared<std::promise<std::string>>();
        std::vector<KeyedRequest> requests;
        requests.push_back(order(key, "good"));
        batcher.submit(std::move(requests), [promise](std::size_t, KeyedOutcome outcome) {
            promise->set_value(in_short(outcome));
        });
        return promise->get_future();
    }
    // Ten other requests; whether all have their answers within that time.
    static bool others_pass(SinkBatcher& batcher, const std::string& name,
                            std::chrono::seconds within) {
        const auto until = std::chrono::steady_clock::now() + within;
        std::vector<std::future<std::string>> others;
        for (int i = 0; i < 10; ++i) others.push_back(submit(batcher, name + std::to_string(i)));
        return std::ranges::all_of(others, [&](std::future<std::string>& other) {
            return other.wait_until(until) == std::future_status::ready && other.get() == "made";
        });
    }
    Database holder_{schema_.server().dsn};
};

TEST_P(LockedRowTest, OneRequestOfALockedRowIsHeldAndTheOthersPass) {
    options_.postgres.lock_timeout = 6s;
    SinkBatcher batcher(options_);
    std::future<std::string> locked = submit(batcher, "locked");
    EXPECT_TRUE(others_pass(batcher, "first", 25s));
    std::future<std::string> locked_too = submit(batcher, "locked too");
    EXPECT_TRUE(others_pass(batcher, "second", 5s)) << "they waited for the whole lock_timeout";
    EXPECT_EQ(locked.wait_for(0s), std::future_status::timeout);
    EXPECT_EQ(locked_too.wait_for(0s), std::future_status::timeout);
    holder_.execute("ROLLBACK");
    EXPECT_EQ(locked.get(), "made");
    EXPECT_EQ(locked_too.get(), "made");
    EXPECT_EQ(rows(), 22);
    EXPECT_EQ(claims(), 22);
}

// Its key is free: no other request runs with it.
TEST_P(LockedRowTest, ARequestOfARowThatStaysLockedIsA503AtItsDeadline) {
    options_.postgres.lock_timeout = 300ms;
    options_.longest_request = 3s;
    SinkBatcher batcher(options_);
    EXPECT_EQ(submit(batcher, "locked").get(), "503");
    EXPECT_EQ(rows(), 0);
    EXPECT_EQ(claims(), 0);
    holder_.execute("ROLLBACK");
    EXPECT_EQ(submit(batcher, "locked").get(), "made");
}

TEST_P(RequestRefusalTest, ABrokenContractIsA503OfARequestThatMayBeSentAgain) {
    const auto intake = options_.intake;
    options_.intake = [intake] {
        SinkIntake made = intake();
        made.sink = std::make_unique<CarelessSink>();
        return made;
    };
    {
        std::promise<KeyedOutcome> promise;
        std::vector<KeyedRequest> requests;
        requests.push_back(order("0", "good"));
        SinkBatcher batcher(options_);
        batcher.submit(std::move(requests), [&](std::size_t, KeyedOutcome outcome) {
            promise.set_value(std::move(outcome));
        });
        const KeyedOutcome outcome = promise.get_future().get();
        EXPECT_EQ(status_of(std::get<Problem>(outcome).kind), 503);
    }
    EXPECT_EQ(rows(), 0);
    EXPECT_EQ(claims(), 0);
    options_.intake = intake;
    EXPECT_THAT(carry_out(1), ElementsAre(Pair("made", 1)));
}

// The row of a repeat that another process has just committed: the request has its answer.
TEST_P(RequestRefusalTest, ARefusalByTheRowOfARepeatElsewhereIsNoVerdict) {
    if (GetParam() == StoreKind::table) return;  // There the repeat waits for the claim.
    schema_.database().execute("ALTER TABLE " + table_ + " ADD UNIQUE (key)");
    bad_one_ = -1;
    ASSERT_THAT(carry_out(1), ElementsAre(Pair("made", 1)));
    for (const int together : {1, 2}) {
        SCOPED_TRACE(together);
        meanwhile_ = [&] { EXPECT_EQ(carry_out_elsewhere(given_ - together), "made"); };
        EXPECT_THAT(carry_out(together), ElementsAre(Pair("made", together)));
    }
    EXPECT_EQ(rows(), 4);
}

const auto name_of_store = [](const auto& store) {
    return store.param == StoreKind::table ? "Table" : "Log";
};
INSTANTIATE_TEST_SUITE_P(Stores, RequestRefusalTest,
                         ::testing::Values(StoreKind::table, StoreKind::log), name_of_store);
INSTANTIATE_TEST_SUITE_P(Stores, LockedRowTest, ::testing::Values(StoreKind::table, StoreKind::log),
                         name_of_store);

}  // namespace
}  // namespace onceward::support
