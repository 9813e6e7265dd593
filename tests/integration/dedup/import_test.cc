// Keys that were handled before are duplicates to the workers, whatever the ledger's store and
// wherever an import was interrupted.

#include "cli/import/import.h"

#include "dedup/ledger/ledger.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

// A list in memory that a test can watch.
class ListedKeys final : public KeyList {
  public:
    explicit ListedKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {
        description = "a test";
    }
    KeyPage read(const std::string& position, std::size_t limit) override {
        ++pages;
        const std::size_t begin = position.empty() ? 0 : std::stoul(position);
        const std::size_t end = std::min(begin + limit, keys_.size());
        if (between) between();
        return {{keys_.begin() + static_cast<std::ptrdiff_t>(begin),
                 keys_.begin() + static_cast<std::ptrdiff_t>(end)},
                std::to_string(end),
                end == keys_.size()};
    }
    int pages = 0;
    std::function<void()> between;  // after a page was read, before it is claimed

  private:
    std::vector<std::string> keys_;
};

std::vector<std::string> keys(int count) {
    std::vector<std::string> keys;
    for (int i = 0; i < count; ++i) keys.push_back("k" + std::to_string(i));
    return keys;
}

class ImportTest : public LedgerTest {
  protected:
    ImportTest() {
        ledger_.name = "ledger";
        ledger_.store = store_;
        registered_ = register_ledger(connection_, ledger_, "group", "topic");
        import_.ledger = registered_.ledger;
        import_.page = 10;
        import_.key = [](const std::string& key) { return ImportedKey{scripted_digest(key), ""}; };
    }
    ImportReport run(KeyList& list) {
        const auto claims = make_claim_store(ledger_, {registered_.ledger, 0, registered_.store},
                                             std::make_shared<LogWindows>());
        return import_keys(connection_, *claims, list, import_);
    }

    LedgerOptions ledger_;
    RegisteredLedger registered_;
    ImportOptions import_;
    Connection connection_{schema_.worker()};
    ScriptedLog log_{1};
};

TEST_P(ImportTest, WhatWasImportedIsADuplicate) {
    append_keys(log_, 0, "k", 20);
    CoreWorker worker(log_, sink_, options());
    ASSERT_TRUE(worker.run());
    ListedKeys list(keys(95));
    const ImportReport report = run(list);
    EXPECT_EQ(report.claimed, 75);
    EXPECT_EQ(report.known, 20);
    EXPECT_TRUE(report.finished);
    append_keys(log_, 0, "k", 100);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(effects(), 25) << "20 before, and five that nobody had imported";
    CoreWorker late(log_, sink_, options("late"));
    append_keys(log_, 0, "k", 100);
    ASSERT_TRUE(late.run());
    EXPECT_EQ(effects(), 25);
}

TEST_P(ImportTest, OneThatWasInterruptedGoesOnWhereItEnded) {
    ListedKeys list(keys(95));
    import_.stopped = [&] { return list.pages == 3; };
    const ImportReport first = run(list);
    EXPECT_EQ(first.claimed, 30);
    EXPECT_FALSE(first.finished);
    import_.stopped = {};
    list.pages = 0;
    const ImportReport second = run(list);
    EXPECT_TRUE(second.resumed);
    EXPECT_TRUE(second.finished);
    EXPECT_EQ(second.claimed, 95);
    EXPECT_EQ(second.known, 0) << "pages were read twice";
    EXPECT_EQ(list.pages, 7);
    // Finished: the next one starts again, and finds all of them.
    const ImportReport third = run(list);
    EXPECT_FALSE(third.resumed);
    EXPECT_EQ(third.known, 95);
}

TEST_P(ImportTest, ARestartBeginsAnew) {
    ListedKeys list(keys(30));
    import_.stopped = [&] { return list.pages == 1; };
    run(list);
    import_.stopped = {};
    import_.restart = true;
    const ImportReport again = run(list);
    EXPECT_FALSE(again.resumed);
    EXPECT_EQ(again.claimed, 20);
    EXPECT_EQ(again.known, 10);
}

// Otherwise the position would pass over a page that nobody has claimed.
TEST_P(ImportTest, TwoOfTheSameListDoNotPassOverEachOthersPages) {
    ListedKeys list(keys(30));
    list.between = [&] {
        if (list.pages == 2) database().execute("UPDATE imports SET position = '30'");
    };
    EXPECT_THROW(run(list), std::runtime_error);
    EXPECT_EQ(database().number("SELECT claimed FROM imports"), 10);
}

TEST_P(ImportTest, WhatNoMessageCouldCarryIsCountedAndLeftOut) {
    import_.key = [](const std::string& key) {
        if (key == "k3") return ImportedKey{std::nullopt, "it is odd"};
        return ImportedKey{scripted_digest(key == "k5" ? "k4" : key), ""};
    };
    ListedKeys list(keys(10));
    const ImportReport report = run(list);
    EXPECT_EQ(report.claimed, 8);
    EXPECT_EQ(report.known, 1) << "twice in the list";
    EXPECT_EQ(report.refused, 1);
    EXPECT_EQ(report.first_fault, "it is odd");
    EXPECT_EQ(report.first_refused, "k3");
}

INSTANTIATE_TEST_SUITE_P(EveryLedger, ImportTest, every_ledger, name_of);

}  // namespace
}  // namespace onceward::support
