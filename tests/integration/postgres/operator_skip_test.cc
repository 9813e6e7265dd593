// `onceward offsets skip|retry`: what cannot be read is passed on purpose, or tried again.

#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

TEST_F(Operator, ASkipPassesTheRangeThatIsNamedWithItsReason) {
    fence(0, 100);
    const std::string before = row("owner, next_offset, epoch, watermark");
    const auto skip = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"offsets", "skip", "--group", "billing", "--topic",
                                             "orders", "--reason", "disk 3"});
        return run(std::move(arguments));
    };
    const Outcome plan = skip({"--partition", "0", "--offset", "100", "--to", "110"});
    EXPECT_EQ(plan.exit_code, 0) << plan.output;
    EXPECT_THAT(plan.output,
                HasSubstr("would skip orders partition 0: offsets 100 to 109, 10 of them"));
    const Outcome elsewhere = skip({"--partition", "0", "--offset", "90", "--to", "110", "--yes"});
    EXPECT_EQ(elsewhere.exit_code, 64);
    EXPECT_THAT(elsewhere.output, HasSubstr("stands at 100, not at 90"));
    EXPECT_EQ(skip({"--partition", "0", "--offset", "100", "--to", "100", "--yes"}).exit_code, 64);
    EXPECT_EQ(skip({"--partition", "0", "--offset", "100", "--yes"}).exit_code, 64)
        << "without a broker nobody knows where the range ends";
    EXPECT_EQ(skip({"--partition", "5", "--offset", "1", "--to", "2", "--yes"}).exit_code, 3);
    EXPECT_EQ(row("owner, next_offset, epoch, watermark"), before);
    EXPECT_EQ(database().number("SELECT count(*) FROM skipped_ranges"), 0);

    const Outcome done = skip({"--partition", "0", "--offset", "100", "--to", "110", "--yes"});
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(database().value("SELECT concat_ws(' ', consumer_group, topic, partition, "
                               "begin_offset, end_offset, reason) FROM skipped_ranges"),
              "billing orders 0 100 110 disk 3");
    EXPECT_EQ(row("next_offset, epoch"), "110 1");
}

TEST_F(Operator, ARetryTakesTheFenceFromItsOwnerAndSkipsNothing) {
    fence(0, 100);
    const std::string owner = row("owner");
    Connection worker(schema_.worker());
    EXPECT_EQ(note_suspect(worker, "billing", {"orders", Partition{0}}, {20, 10}, {}), Offset{100});
    const Outcome outcome =
        run({"offsets", "retry", "--group", "billing", "--topic", "orders", "--partition", "0"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("tried again from 100"));
    EXPECT_NE(row("owner"), owner);
    EXPECT_EQ(row("next_offset, watermark IS NULL"), "100 f");
    EXPECT_EQ(database().value("SELECT cleared_at IS NOT NULL FROM partition_suspects"), "t");
    EXPECT_EQ(database().number("SELECT count(*) FROM skipped_ranges"), 0);
}

}  // namespace
}  // namespace onceward::operator_tests
