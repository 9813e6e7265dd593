// What a changed configuration leads to: pairs of files, with what PostgreSQL knows of the group.

#include "cli/plan/judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/configuration/load.h"

namespace onceward {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Level = Consequence::Level;

constexpr const char* base =
    "group: shop\n"
    "workers: 2\n"
    "kafka: {bootstrap_servers: 'localhost:1'}\n"
    "postgres: {dsn: 'host=nowhere'}\n"
    "topics:\n"
    "  - name: orders\n"
    "    key: {sources: [{field: /id}], tenant: /merchant}\n"
    "    ledger: {store: table, retention: 48h}\n"
    "    sink: {table: orders, columns: {id: /id}}\n"
    "  - name: refunds\n"
    "    key: {preset: idempotency-key, fingerprint: payload}\n"
    "    ledger: {store: table}\n"
    "    sink: {table: refunds, columns: {id: /id}}\n";

Configuration loaded(const std::string& text) {
    LoadResult result = load_configuration_text(text, "onceward.yaml");
    for (const Finding& finding : result.findings) {
        EXPECT_NE(finding.severity, Finding::Severity::error) << to_text(finding, "onceward.yaml");
    }
    return std::move(result.configuration);
}

std::string replaced(const std::string& old, const std::string& by, std::string text = base) {
    const std::size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return text.replace(at, old.size(), by);
}

// `level option`, and ` reloads` where a process that runs can take it.
std::vector<std::string> judged(const std::string& next, const PlanFacts& facts = {},
                                const std::string& now = base) {
    const Configuration before = loaded(now);
    std::vector<std::string> lines;
    for (const Consequence& one : judge(&before, loaded(next), facts)) {
        lines.push_back(std::string(to_text(one.level)) + " " + one.topic + ":" + one.option +
                        (one.reloads ? " reloads" : ""));
    }
    return lines;
}

std::string text_of(const std::string& next, const PlanFacts& facts = {}) {
    const Configuration before = loaded(base);
    std::string text;
    for (const Consequence& one : judge(&before, loaded(next), facts)) text += line_of(one) + "\n";
    return text;
}

PlanFacts shop_facts() {
    PlanFacts facts;
    facts.topics["orders"] = {.fences = 6, .ledgers = {"shop/orders"}};
    facts.topics["refunds"] = {.fences = 1, .ledgers = {"shop/refunds"}};
    facts.ledgers["shop/orders"] = {.store = "table",
                                    .reach = "global",
                                    .retention = std::chrono::hours(48),
                                    .claims = 1'234'567,
                                    .counted = false};
    facts.ledgers["shop/refunds"] = {.store = "table",
                                     .reach = "global",
                                     .retention = std::chrono::hours(24),
                                     .claims = 1,
                                     .counted = true};
    return facts;
}

struct OneChange {
    const char* old;
    const char* by;
    const char* expected;
};

// Each takes one place of the file, and has one consequence.
constexpr OneChange changes[] = {
    {"tenant: /merchant}", "tenant: /shop}", "danger orders:key.tenant"},
    {"tenant: /merchant}", "tenant: /merchant, operation: pay}", "danger orders:key.operation"},
    {"[{field: /id}]", "[{header: id}]", "danger orders:key.sources"},
    {"[{field: /id}]", "[{fields: [/id, /line]}]", "danger orders:key.sources"},
    {"preset: idempotency-key", "preset: masstransit", "danger refunds:key.sources"},
    {"fingerprint: payload", "fingerprint: {fields: [/id]}", "danger refunds:key.fingerprint"},
    {"fingerprint: payload", "fingerprint: none", "restart refunds:key.fingerprint"},
    {"tenant: /merchant}", "tenant: /merchant, fingerprint: payload}",
     "restart orders:key.fingerprint"},
    {"tenant: /merchant}", "tenant: /merchant, minted_at: uuid7}", "restart orders:key.minted_at"},
    {"fingerprint: payload", "fingerprint: payload, minted_at: uuid7",
     "danger refunds:key.minted_at"},
    {"tenant: /merchant}", "tenant: /merchant, charset: uuid}", "danger orders:key.charset"},
    {"retention: 48h", "retention: 24h", "danger orders:ledger.retention"},
    {"retention: 48h", "retention: 96h", "restart orders:ledger.retention"},
    {"retention: 48h", "retention: 48h, name: all", "danger orders:ledger.name"},
    {"store: table", "store: log", "danger orders:ledger.store"},
    {"store: table", "store: auto", "restart orders:ledger.store"},
    {"retention: 48h", "retention: 48h, rotate_after: 2h", "restart orders:ledger.rotate_after"},
    {"table: orders", "table: other", "danger orders:sink.table"},
    {"columns: {id: /id}}\n  - name", "columns: {id: /id, at: /at}}\n  - name",
     "restart orders:sink.columns"},
    {"name: orders", "name: orders\n    envelope: connect", "danger orders:envelope"},
    {"name: orders", "name: orders\n    tombstones: skip", "restart orders:tombstones"},
    {"name: orders", "name: orders\n    on_reject: halt", "safe orders:on_reject reloads"},
    {"name: orders", "name: orders\n    reject_cap: {share: 0.1}",
     "safe orders:reject_cap.share reloads"},
    {"name: orders", "name: orders\n    retries: {attempts: 3}",
     "safe orders:retries.attempts reloads"},
    {"name: orders", "name: orders\n    order: by_key", "safe orders:order reloads"},
    {"name: orders", "name: orders\n    hot_key: {most: 9}", "safe orders:hot_key.most reloads"},
    {"name: orders", "name: orders\n    start: latest", "safe orders:start reloads"},
    {"name: orders", "name: orders\n    on_out_of_range: earliest",
     "danger orders:on_out_of_range reloads"},
    {"tenant: /merchant}", "tenant: /merchant, on_missing: derive}",
     "danger orders:key.on_missing reloads"},
    {"tenant: /merchant}", "tenant: /merchant, on_missing: skip}",
     "danger orders:key.on_missing reloads"},
    {"tenant: /merchant}", "tenant: /merchant, on_invalid: skip}",
     "danger orders:key.on_invalid reloads"},
    {"fingerprint: payload", "fingerprint: payload, on_conflict: ignore",
     "danger refunds:key.on_conflict reloads"},
    {"fingerprint: payload", "fingerprint: payload, on_conflict: halt",
     "safe refunds:key.on_conflict reloads"},
    {"workers: 2", "workers: 4", "restart :workers"},
    {"host=nowhere'}", "host=elsewhere'}", "restart :postgres.dsn"},
    {"host=nowhere'}", "host=nowhere', schema: other}", "danger :postgres.schema"},
    {"localhost:1'}", "localhost:2'}", "restart :kafka.bootstrap_servers"},
    {"localhost:1'}", "localhost:1', properties: {client.rack: other}}",
     "restart :kafka.properties"},
    {"workers: 2", "workers: 2\ndrain_timeout: 20s", "restart :drain_timeout"},
    {"workers: 2", "workers: 2\nlogging: {level: debug}", "restart :logging.level"},
};

TEST(Judgement, OfEachChangedOptionIsAsThisTableHasIt) {
    for (const OneChange& one : changes) {
        EXPECT_THAT(judged(replaced(one.old, one.by)), ElementsAre(one.expected)) << one.by;
    }
}

TEST(Judgement, OfAnotherFormatSaysWhatWaitsInTheTopic) {
    const std::string headers =
        replaced("columns: {id: /id}}\n  - name", "columns: {id: {header: id}}}\n  - name",
                 replaced("[{field: /id}], tenant: /merchant", "[{header: id}]"));
    EXPECT_THAT(judged(replaced("name: orders", "name: orders\n    format: raw", headers), {},
                       headers),
                ElementsAre("danger orders:format"));
}

TEST(Judgement, TheSameInOtherWordsChangesNothing) {
    EXPECT_THAT(judged(base), IsEmpty());
    EXPECT_THAT(judged(replaced("48h", "2880m")), IsEmpty());
    EXPECT_THAT(judged(replaced("workers: 2", "workers: 2 # two\nbatch: {bytes: 8192KiB}")),
                IsEmpty());
    EXPECT_THAT(judged(replaced("tenant: /merchant}",
                                "tenant: /merchant, operation: shop/orders, on_missing: reject}")),
                IsEmpty());
    EXPECT_THAT(judged(replaced("retention: 48h", "retention: 48h, name: shop/orders")),
                IsEmpty());
    // In another order of the topics.
    const std::string text = base;
    const std::size_t topics = text.find("  - name: orders");
    const std::size_t second = text.find("  - name: refunds");
    EXPECT_THAT(judged(text.substr(0, topics) + text.substr(second) +
                       text.substr(topics, second - topics)),
                IsEmpty());
}

TEST(Judgement, OfOtherKeysCountsTheClaimsThatWouldNotBeFound) {
    EXPECT_EQ(text_of(replaced("tenant: /merchant}", "tenant: /shop}"), shop_facts()),
              "danger: topic orders: key.tenant: every key becomes new: about 1.23 million claims "
              "would not be found, and a message that is repeated would be applied again. Instead: "
              "keep it; or change it when nothing that was applied can be repeated: one retention "
              "after the last message with an old key.\n");
    EXPECT_THAT(text_of(replaced("preset: idempotency-key", "preset: masstransit"), shop_facts()),
                HasSubstr("every key becomes new: 1 claim would not be found"));
    EXPECT_THAT(text_of(replaced("preset: idempotency-key", "preset: masstransit")),
                HasSubstr("the claims of ledger `shop/refunds` would not be found"));
}

TEST(Judgement, OfAnotherGroupSaysThatFencesAndKeysAreNew) {
    EXPECT_THAT(judged(replaced("group: shop", "group: shop2")),
                ElementsAre("danger :group", "danger orders:ledger.name",
                            "danger orders:key.operation", "danger refunds:ledger.name",
                            "danger refunds:key.operation"));
}

TEST(Judgement, ATopicMoreBeginsWhereStartSays) {
    const std::string next = std::string(base) +
                             "  - name: gifts\n    start: latest\n    key: {preset: "
                             "idempotency-key}\n    sink: {table: gifts, columns: {id: /id}}\n";
    EXPECT_THAT(judged(next), ElementsAre("safe gifts: reloads"));
    EXPECT_THAT(text_of(next), HasSubstr("begins at the end of its log: what it holds now is not"));
    PlanFacts facts = shop_facts();
    facts.topics["gifts"].fences = 3;
    EXPECT_THAT(text_of(next, facts), HasSubstr("read on from 3 fences"));
}

TEST(Judgement, ATopicLessIsDangerousAndAProcessTakesItUnlessItsServerIsLeftWithNone) {
    const std::string text = base;
    const std::string next = text.substr(0, text.find("  - name: refunds"));
    EXPECT_THAT(judged(next), ElementsAre("danger refunds: reloads"));
    EXPECT_THAT(text_of(next, shop_facts()), HasSubstr("held back by its 1 fence"));
    EXPECT_THAT(text_of(next), HasSubstr("onceward groups retire shop --topic refunds"));
    const std::string apart =
        replaced("  - name: refunds", "  - name: refunds\n    database: east",
                 replaced("topics:", "databases: [{name: east, dsn: 'host=east'}]\ntopics:"));
    const std::string without_east = apart.substr(0, apart.find("  - name: refunds"));
    EXPECT_THAT(judged(without_east, {}, apart), ElementsAre("danger refunds:"));
    EXPECT_THAT(judged(apart, {}, without_east), ElementsAre("restart refunds:"))
        << "no worker is there";
    EXPECT_THAT(judged(apart), Contains("danger refunds:database"));
}

TEST(Judgement, ATopicMoreThatPublishesNeedsARestart) {
    const std::string next = std::string(base) +
                             "  - name: gifts\n    key: {preset: idempotency-key}\n    sink: "
                             "{outbox: {topic: gifts_out}}\n";
    EXPECT_THAT(judged(next), ElementsAre("restart gifts:"));
}

TEST(Judgement, ATopicMoreDoesNotChangeALedgerThatIsThere) {
    const auto next = [](const std::string& ledger) {
        return replaced("  - name: refunds\n    key: {preset: idempotency-key, fingerprint: "
                        "payload}\n    ledger: {store: table}\n",
                        "  - name: gifts\n    ledger: {name: shop/refunds, store: table, " +
                            ledger + "}\n    key: {preset: idempotency-key}\n");
    };
    EXPECT_THAT(judged(next("rotate_after: 3h")),
                ElementsAre("danger refunds: reloads", "safe gifts: reloads"));
    EXPECT_THAT(judged(next("rotate_after: 1h")),
                ElementsAre("danger refunds: reloads", "restart gifts:"));
    EXPECT_THAT(judged(next("retention: 6h")), Contains("danger gifts:ledger.retention"));
}

// Without a word about the store it is a log by then, which `minted_at` cannot have.
TEST(Judgement, AMintingTimeStopsATopicWhoseLedgerBeganAsALog) {
    const std::string unsaid = replaced("store: table, ret", "ret");
    const std::string minted = replaced("/merchant", "/merchant, minted_at: uuid7", unsaid);
    EXPECT_THAT(judged(minted, {}, unsaid),
                ElementsAre("danger orders:ledger.store", "restart orders:key.minted_at"));
}

TEST(Judgement, WithoutAFileComparesWhatPostgresqlKnows) {
    const auto judged_by_facts = [](const std::string& text, const PlanFacts& facts) {
        std::string lines;
        for (const Consequence& one : judge(nullptr, loaded(text), facts)) {
            lines += line_of(one) + "\n";
        }
        return lines;
    };
    PlanFacts facts = shop_facts();
    EXPECT_EQ(judged_by_facts(base, facts), "");
    EXPECT_THAT(judged_by_facts(base, {}), HasSubstr("safe: topic orders: it is read, and begins"));
    EXPECT_THAT(judged_by_facts(replaced("48h", "24h"), facts),
                HasSubstr("dropped after 1d instead of 2d"));
    EXPECT_THAT(judged_by_facts(replaced("48h", "48h, name: all"), facts),
                HasSubstr("ledger.name: every key becomes new: about 1.23 million claims"));
    EXPECT_THAT(judged_by_facts(replaced("store: table, ret", "store: log, ret"), facts),
                HasSubstr("the ledger `shop/orders` has `table`, which cannot be changed"));
    EXPECT_THAT(judged_by_facts(replaced("store: table, ret", "store: log, ret"), facts),
                HasSubstr("remove it, restart the workers, and then run `onceward ledger"));
    EXPECT_EQ(judged_by_facts(replaced("store: table, ret", "store: auto, ret"), facts), "");
    facts.ledgers["shop/orders"].store = "log";
    EXPECT_EQ(judged_by_facts(replaced("store: table, ret", "store: auto, ret"), facts), "");
    EXPECT_THAT(judged_by_facts(base, facts), HasSubstr("`shop/orders` has `log`, which cannot"));
    facts.ledgers["shop/orders"].store = "table";
    facts.topics["gifts"].fences = 2;
    EXPECT_THAT(judged_by_facts(base, facts), HasSubstr("danger: topic gifts: nobody reads it"));
    facts.topics.erase("gifts");
    facts.topics["orders"].sink_problem = "there is no table orders";
    EXPECT_THAT(judged_by_facts(base, facts),
                HasSubstr("danger: topic orders: sink: the topic would halt: there is no table"));
    facts.topics["orders"] = {.fences_in = "east"};
    EXPECT_THAT(judged_by_facts(base, facts), HasSubstr("its fences are on `east`"));
}

TEST(Judgement, TheMostDangerousComesFirst) {
    const std::string next = replaced("workers: 2", "workers: 3",
                                      replaced("tenant: /merchant}", "tenant: /shop}",
                                               replaced("name: orders",
                                                        "name: orders\n    on_reject: halt")));
    EXPECT_THAT(judged(next), ElementsAre("danger orders:key.tenant", "restart :workers",
                                          "safe orders:on_reject reloads"));
}

TEST(Judgement, NeverShowsASecret) {
    EXPECT_THAT(text_of(replaced("host=nowhere'}", "host=nowhere password=s3cret'}")),
                Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace onceward
