// What a process remembers of a log stays within its limit, with either reach. Beyond it verdicts
// are slower, and the same.

#include <algorithm>

#include "dedup/claims/log/log_reader.h"
#include "dedup/claims/log/partition_log_store.h"
#include "dedup/retention/retention.h"
#include "dedup/retention/sealing.h"
#include "tests/integration/dedup/core_fixture.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class LogMemoryTest : public SealingTest, public ::testing::WithParamInterface<Reach> {
  protected:
    LogMemoryTest() : SealingTest(GetParam()) {}
    // A process begins that may have so many bytes of claims.
    void begin(std::size_t limit) {
        windows_ = std::make_shared<LogWindows>(limit);
        claims_ = make_claim_store(ledger_, registered_, windows_);
        const TopicPartition taken{"topic", Partition{0}};
        claims_->partitions_taken(leader_, {&taken, 1});
        claims_->catch_up(leader_);
    }
    // As the processor claims them, in one transaction: how many of the keys from `first` on were
    // fresh. -1 if it does not settle.
    std::int64_t claim(int first, int count) {
        std::vector<Claim> wanted;
        for (int i = 0; i < count; ++i) wanted.push_back(claim_of("k" + std::to_string(first + i)));
        std::ranges::sort(wanted, {}, &Claim::digest);
        for (int tries = 0; tries < 5; ++tries) {
            claims_->catch_up(leader_);
            try {
                OwnedTransaction transaction(leader_);
                const auto answers = claims_->claim(transaction, wanted);
                if (claims_->settle(transaction) == Settlement::again) continue;
                transaction.commit();
                claims_->committed();
                return std::ranges::count(*answers, Verdict::fresh, &ClaimAnswer::verdict);
            } catch (const PostgresError& error) {
                // The open generation became a segment.
                EXPECT_EQ(error.sqlstate(), "40001");
            }
        }
        return -1;
    }
    // REQUIRES: the last claim was settled, so that the store has this window.
    LogWindow& window() {
        if (auto* const store = dynamic_cast<PartitionLogStore*>(claims_.get())) {
            return store->window(Partition{0});
        }
        return *windows_->join(log_server(leader_), registered_.ledger);
    }

    std::unique_ptr<ClaimStore> claims_;
};

// Without that, these claims take 16 MiB one by one.
TEST_P(LogMemoryTest, RetentionSealsAGenerationBeforeItsClaimsTakeMoreThanTheLimit) {
    begin(std::size_t{7} << 20);
    RetentionJob retention(
        {.connection = schema_.worker(), .ledgers = {ledger_}, .windows = windows_});
    int next = 0;
    for (int look = 0; look < 8; ++look) {
        for (int batch = 0; batch < 10; ++batch, next += 5000) {
            ASSERT_EQ(claim(next, 5000), 5000);
        }
        retention.look(leader_, ledger_);
        window().next_segments_look = LogWindow::Clock::time_point{};
        claims_->catch_up(leader_);
        EXPECT_LE(windows_->bytes(), windows_->limit());
    }
    EXPECT_EQ(claim(0, 5000), 0) << "of a segment";
    EXPECT_EQ(claim(next - 5000, 5001), 1);
}

TEST_P(LogMemoryTest, FiltersMakeRoomForRecentClaims) {
    begin(std::size_t{100} << 10);
    for (const int first : {0, 1000}) {
        ASSERT_EQ(claim(first, 1000), 1000);
        seal();
    }
    begin(std::size_t{100} << 10);
    ASSERT_TRUE(eventually(10s, [&] {
        claims_->catch_up(leader_);
        return !window().missing_filter();
    }));
    ASSERT_EQ(claim(2000, 8000), 8000);
    EXPECT_GT(windows_->bytes(), windows_->limit());
    EXPECT_TRUE(eventually(10s, [&] {
        claims_->catch_up(leader_);
        return window().missing_filter().has_value();
    }));
    EXPECT_EQ(claim(0, 10'000), 0);
}

// Usually a process asks for segments every half a minute.
TEST_P(LogMemoryTest, RecentClaimsOverTheLimitBecomeFiltersSoonAfterTheyAreSealed) {
    begin(std::size_t{100} << 10);
    ASSERT_EQ(claim(0, 8000), 8000);
    ASSERT_GT(windows_->bytes(), windows_->limit());
    rotate();
    ASSERT_EQ(claim(8000, 1), 1) << "of the next generation";
    ASSERT_TRUE(seal_oldest(leader_, registered_.ledger, small_shards).sealed);
    ASSERT_EQ(drop_sealed_logs(leader_, registered_.ledger), 1);
    EXPECT_TRUE(eventually(10s, [&] {
        claims_->catch_up(leader_);
        return windows_->bytes() <= windows_->limit();
    }));
    EXPECT_EQ(claim(0, 8001), 0);
}

// Work that arrives would wait for the pause.
TEST_P(LogMemoryTest, OnlyABatchPausesWhileClaimsOverTheLimitBecomeFilters) {
    begin(std::size_t{100} << 10);
    ASSERT_EQ(claim(0, 8000), 8000);
    rotate();
    ASSERT_EQ(claim(8000, 1), 1) << "of the next generation";
    ASSERT_GT(windows_->bytes(), windows_->limit());
    // With `reach: partition` the memory is counted once a second until it is over the limit.
    EXPECT_TRUE(support::eventually(5s, [&] {
        const auto begun = LogWindow::Clock::now();
        claims_->catch_up(leader_);
        return LogWindow::Clock::now() - begun >= 20ms;
    }));
    const auto caught_up = LogWindow::Clock::now();
    for (int i = 0; i < 100; ++i) claims_->follow(leader_);
    EXPECT_LT(LogWindow::Clock::now() - caught_up, 100 * 20ms);
}

// Its bytes would count towards the limit of the process for as long as its topic is stopped.
TEST_P(LogMemoryTest, AStoreThatReleasedAllReadsItAgainBeforeTheNextBatch) {
    begin(LogWindows::default_limit);
    ASSERT_EQ(claim(0, 1000), 1000);
    seal();
    ASSERT_EQ(claim(1000, 1000), 1000);
    claims_->release_all();
    EXPECT_EQ(windows_->bytes(), 0U);
    const TopicPartition taken{"topic", Partition{0}};
    claims_->partitions_taken(leader_, {&taken, 1});
    EXPECT_EQ(claim(0, 2001), 1);
}

TEST_P(LogMemoryTest, ALedgerWithFewRecentClaimsDoesNotWaitForTheMemoryOfAnother) {
    begin(std::size_t{100} << 10);
    ASSERT_EQ(claim(0, 10), 10);
    const std::shared_ptr<LogWindow> other = windows_->make(registered_.ledger + 1);
    std::vector<Digest> digests;
    for (int i = 0; i < 8000; ++i) digests.push_back(scripted_digest("k" + std::to_string(i)));
    const LogBatch batch{1, digests, {}};
    other->take_in(1, {&batch, 1});
    ASSERT_GT(windows_->bytes(), windows_->limit());
    LogWindow* const mine = &window();
    const LogWindow::Clock::time_point later = LogWindow::Clock::now() + 1h;
    mine->next_segments_look = later;
    EXPECT_FALSE(read_filters(leader_, registered_.ledger, {&mine, 1}, *windows_, 0ms));
    EXPECT_TRUE(mine->next_segments_look.load() == later) << "a batch that waits asks for segments";
}

INSTANTIATE_TEST_SUITE_P(Reaches, LogMemoryTest, ::testing::Values(Reach::global, Reach::partition),
                         [](const ::testing::TestParamInfo<Reach>& reach) -> std::string {
                             return reach.param == Reach::global ? "Global" : "Partition";
                         });

}  // namespace
}  // namespace onceward::support
