// Which store a ledger has whose topics do not say one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/configuration/texts.h"

namespace onceward::test {
namespace {

using testing::HasSubstr;

// "log or what it is", or the store that it must have.
std::string store_of(const LoadResult& result, const std::string& name = "orders/payments") {
    EXPECT_TRUE(result.usable()) << all_findings(result);
    const LedgerOptions& ledger = result.configuration.ledgers.at(name);
    return std::string(to_text(ledger.store)) + (ledger.any_store ? " or what it is" : "");
}

std::string two_topics(const std::string& first, const std::string& second) {
    const std::string sink = "    sink: {table: payments, columns: {id: /id}}\n";
    return good_text("", sink + "    ledger: {name: both" + first + "}\n  - name: refunds\n" +
                             "    key: {preset: idempotency-key}\n" + sink +
                             "    ledger: {name: both" + second + "}\n");
}

TEST(DefaultStore, OfATopicIsALogOrWhatTheLedgerIs) {
    EXPECT_EQ(store_of(load(good_text())), "log or what it is");
    EXPECT_EQ(store_of(load(good_text("", "    ledger: {retention: 48h}\n"))), "log or what it is");
    EXPECT_EQ(store_of(load(good_text("", "    ledger: {store: auto}\n"))), "log or what it is");
}

TEST(DefaultStore, OfATopicWithMintingTimesOrResultsIsATable) {
    const std::string sink = "    sink: {function: shop.pay, columns: {id: /id}}\n";
    EXPECT_EQ(store_of(load(good_text("", sink + "    results: {}\n"))), "table");
    std::string minted = good_text();
    minted.replace(minted.find("key}"), 3, "key, minted_at: {header: at}");
    EXPECT_EQ(store_of(load(minted)), "table");
}

// Each of its segments is searched by each batch, and their number grows with the rate.
TEST(DefaultStore, ALogWithResultsIsWarnedOfUnlessItSaysHowLargeItsTablesAre) {
    const auto findings = [](const std::string& ledger) {
        const LoadResult result =
            load(good_text("", "    sink: {function: shop.pay, columns: {id: /id}}\n    results: "
                               "{}\n    ledger: {" +
                                   ledger + "}\n"));
        EXPECT_TRUE(result.usable());
        return all_findings(result);
    };
    EXPECT_THAT(findings("store: log"), HasSubstr("do not become one"));
    for (const char* ledger : {"store: log, rotate_claims: 5000000", "store: table"}) {
        EXPECT_THAT(findings(ledger), testing::Not(HasSubstr("do not become one"))) << ledger;
    }
}

TEST(DefaultStore, OfARouteIsATableAndSoIsALedgerThatATopicShares) {
    const std::string http =
        "http:\n  listen: 127.0.0.1:0\n  routes:\n    - method: POST\n      path: /payments\n"
        "      sink: {table: payments, columns: {id: /id}}\n";
    EXPECT_EQ(store_of(load(good_text(http)), "orders/POST /payments"), "table");
    EXPECT_EQ(store_of(load(good_text(http))), "log or what it is");
    const std::string shared = http + "      ledger: {name: both}\n";
    EXPECT_EQ(store_of(load(good_text(shared, "    ledger: {name: both}\n")), "both"), "table");
}

TEST(DefaultStore, OneTopicSaysItForAllTopicsWithTheLedger) {
    EXPECT_EQ(store_of(load(two_topics("", "")), "both"), "log or what it is");
    EXPECT_EQ(store_of(load(two_topics(", store: table", "")), "both"), "table");
    EXPECT_EQ(store_of(load(two_topics("", ", store: table")), "both"), "table");
    EXPECT_EQ(store_of(load(two_topics("", ", store: log")), "both"), "log");
    const LoadResult differ = load(two_topics(", store: log", ", store: table"));
    EXPECT_FALSE(differ.usable());
    EXPECT_THAT(all_findings(differ), HasSubstr("has another `store` at a topic above"));
}

}  // namespace
}  // namespace onceward::test
