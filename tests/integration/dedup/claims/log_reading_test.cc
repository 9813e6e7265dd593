// How a worker's window follows the log: all of its pages, what others append, what expires.

#include "tests/integration/dedup/claims/log_store_fixture.h"

namespace onceward::support {
namespace {

// Its own claims would otherwise move over what others appended meanwhile.
TEST_F(LogStoreTest, AfterARoundTripWhatOthersAppendedIsKnownAsBefore) {
    Session one = session(), two = session();
    one.store.catch_up(one.connection);
    const Claim first = claim_of("a");
    const auto planned = one.store.append_as_new({&first, 1});
    ASSERT_TRUE(planned);
    {
        OwnedTransaction whole(one.connection, OwnedTransaction::Begin::with_first);
        const std::vector<QueryResult> results = whole.run_whole(*planned);
        one.store.appended_as_new(results);
        one.store.committed();
    }
    EXPECT_EQ(one.begin(claim_of("b")).verdict, Verdict::fresh);
    EXPECT_EQ(two.verdict("k"), Verdict::fresh);
    ASSERT_EQ(one.settle(), Settlement::settled);
    one.commit();
    EXPECT_EQ(one.verdict("k"), Verdict::duplicate);
}

TEST_F(LogStoreTest, ALogOfSeveralPagesIsReadWhole) {
    constexpr std::size_t more_than_a_page = 70;
    Session one = session();
    for (std::size_t i = 0; i < more_than_a_page; ++i) one.verdict("k" + std::to_string(i));
    Session late = session();
    late.store.catch_up(late.connection);
    EXPECT_EQ(late.store.window()->size(), more_than_a_page);
}

// It never reads the log between its batches, because its own commits keep the last look fresh.
TEST_F(LogStoreTest, AWorkerThatIsNeverIdleForgetsWhatHasExpired) {
    Session one = session();
    one.verdict("k");
    rotate();
    one.verdict("j");
    drop_first_generation();
    one.verdict("l");
    EXPECT_EQ(one.store.window()->size(), 2U);
}

// Its bytes count towards the limit of the process, and make the others drop their filters.
TEST_F(LogStoreTest, AStoreWithoutBatchesCanReleaseADiscardedWindow) {
    windows_ = std::make_shared<LogWindows>();
    Session halted = session(), busy = session();
    halted.verdict("k");
    busy.verdict("j");
    halted.store.release_discarded();
    ASSERT_EQ(halted.store.window(), busy.store.window()) << "it is not discarded yet";
    busy.store.connection_lost();
    busy.verdict("l");
    EXPECT_GT(windows_->bytes(), busy.store.window()->bytes());
    halted.store.release_discarded();
    EXPECT_EQ(windows_->bytes(), busy.store.window()->bytes());
    EXPECT_EQ(halted.verdict("l"), Verdict::duplicate);
}

}  // namespace
}  // namespace onceward::support
