#pragma once
// A log's ledger whose segments are merged.

#include "dedup/retention/merging.h"
#include "dedup/retention/retention.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {

using namespace std::chrono_literals;

inline constexpr MergeRule any_two{.fewest = 2};

class MergeTest : public SealingTest {
  protected:
    MergeTest() : SealingTest(Reach::global) {}

    // Applies keys `first` to `last`, exclusive, in batches. Returns how many were fresh.
    std::int64_t apply(CoreWorker& worker, int first, int last) {
        const std::int64_t before = worker.totals.applied;
        for (int i = first; i < last; ++i) {
            log_.append(0, {.key = "k" + std::to_string(i),
                            .fingerprint = digest_of_bytes(std::to_string(i))});
        }
        EXPECT_TRUE(worker.run());
        return worker.totals.applied - before;
    }
    // Makes `count` segments of a thousand keys each.
    void make_segments(CoreWorker& worker, int count) {
        for (int i = 0; i < count; ++i) {
            ASSERT_EQ(apply(worker, 1000 * i, 1000 * (i + 1)), 1000);
            seal();
        }
    }
    MergeReport merge(const MergeRule& rule = any_two) {
        return Merger(leader_, registered_.ledger, small_shards).step(rule, 1h);
    }
    // Retention in passes that follow each other at once.
    RetentionOptions retention() {
        return {.connection = schema_.worker(),
                .ledgers = {ledger_},
                .every = 20ms,
                .sealing = small_shards,
                .merge = any_two};
    }
    // Its passes have no time, so that a merge is begun and never gets further.
    RetentionOptions retention_without_time() {
        RetentionOptions options = retention();
        options.merging = -1ms;
        return options;
    }
    // Publishing a segment, or a merged one, runs this PL/pgSQL first, with the owner's rights.
    void on_segments(const std::string& statements) {
        database().execute(
            "CREATE FUNCTION before_segments() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER "
            "AS $$ BEGIN " +
            statements +
            " RETURN new; END $$; CREATE TRIGGER before_segments BEFORE INSERT OR UPDATE ON "
            "segments FOR EACH ROW EXECUTE FUNCTION before_segments()");
    }
    // Drops the tables that no generation and no segment has, as retention does.
    void drop_replaced() {
        merge({.fewest = 1000});
        database().execute("SELECT drop_generation(1, one) FROM orphaned_generations(1) AS one");
    }
    std::string generations() {
        return database().value(
            "SELECT string_agg(generation::text, ' ' ORDER BY generation) FROM generations");
    }

    ScriptedLog log_{1};
};

}  // namespace onceward::support
