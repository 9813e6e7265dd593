#include <gtest/gtest.h>

#include "dedup/trial/sink_trial.h"
#include "tests/unit/dedup/messages.h"

namespace onceward::test {
namespace {

Claim claim(std::uint8_t key, std::optional<Digest> fingerprint = std::nullopt) {
    return {digest(key), fingerprint, Partition{0}, Offset{0}};
}

Verdict verdict(MemoryStore& store, const Claim& wanted) {
    return store.claim(std::span(&wanted, 1))[0].verdict;
}

TEST(MemoryStore, AClaimHoldsOnceItWasCommitted) {
    MemoryStore store;
    EXPECT_EQ(verdict(store, claim(1)), Verdict::fresh);
    EXPECT_EQ(verdict(store, claim(1)), Verdict::fresh) << "the first try was rolled back";
    store.committed();
    EXPECT_EQ(verdict(store, claim(1)), Verdict::duplicate);
    EXPECT_TRUE(store.holds(digest(1)));
    EXPECT_EQ(store.size(), 1U);
}

TEST(MemoryStore, AnotherFingerprintIsAConflict) {
    MemoryStore store;
    verdict(store, claim(1, digest(7)));
    store.committed();
    EXPECT_EQ(verdict(store, claim(1, digest(8))), Verdict::conflict);
    EXPECT_EQ(verdict(store, claim(1, digest(7))), Verdict::duplicate);
    EXPECT_EQ(verdict(store, claim(1)), Verdict::duplicate);
}

TEST(MemoryStore, ALostConnectionTakesOnlyWhatWasNotCommitted) {
    MemoryStore store;
    verdict(store, claim(1));
    store.committed();
    verdict(store, claim(2));
    store.connection_lost();
    store.committed();
    EXPECT_TRUE(store.holds(digest(1)));
    EXPECT_FALSE(store.holds(digest(2)));
}

}  // namespace
}  // namespace onceward::test
