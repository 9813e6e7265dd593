// `onceward offsets`: what a move, a skip and a retry write down.

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
    EXPECT_THAT(elsewhere.output, HasSubstr("is at 100, not at 90"));
    EXPECT_EQ(skip({"--partition", "0", "--offset", "100", "--to", "100", "--yes"}).exit_code, 64);
    EXPECT_EQ(skip({"--partition", "0", "--offset", "100", "--yes"}).exit_code, 64)
        << "without a broker nobody knows where the range ends";
    EXPECT_EQ(skip({"--partition", "5", "--offset", "1", "--to", "2", "--yes"}).exit_code, 3);
    EXPECT_EQ(row("owner, next_offset, epoch, watermark"), before);
    EXPECT_EQ(database().number("SELECT count(*) FROM skipped_ranges"), 0);

    const Outcome done = skip({"--partition", "0", "--offset", "100", "--to", "110", "--yes"});
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(database().value("SELECT concat_ws(' ', consumer_group, topic, partition, "
                               "begin_offset, end_offset, reason, skipped_by) "
                               "FROM skipped_ranges"),
              std::string("billing orders 0 100 110 disk 3 ") + support::worker_role);
    EXPECT_EQ(database().number("SELECT count(*) FROM fence_moves"), 1);
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

TEST_F(Operator, AMoveNeedsAReasonAndIsWrittenDownWithTheRole) {
    fence(0, 100);
    const auto move = [&](const char* to, std::vector<std::string> more) {
        more.insert(more.begin(), {"offsets", "--group", "billing", "--topic", "orders",
                                   "--partition", "0", "--set", to});
        return run(std::move(more));
    };
    EXPECT_EQ(move("40", {}).exit_code, 0) << "a dry run says nothing to anybody";
    for (const std::vector<std::string>& nothing :
         {std::vector<std::string>{"--yes"}, {"--yes", "--reason", ""}}) {
        const Outcome without = move("40", nothing);
        EXPECT_EQ(without.exit_code, 64) << without.output;
        EXPECT_THAT(without.output, HasSubstr("--reason"));
    }
    EXPECT_EQ(row("next_offset"), "100");
    EXPECT_EQ(move("40", {"--yes", "--reason", "read again"}).exit_code, 0);
    const auto last_move = [&] {
        return database().value(
            "SELECT concat_ws(' ', consumer_group, topic, partition, from_offset, to_offset, "
            "new_log, reason, moved_by, moved_at > now() - interval '1 minute') "
            "FROM fence_moves ORDER BY fence_move DESC LIMIT 1");
    };
    const std::string role = support::worker_role;
    EXPECT_EQ(last_move(), "billing orders 0 100 40 f read again " + role + " t");
    EXPECT_EQ(database().number("SELECT count(*) FROM skipped_ranges"), 0);
    EXPECT_EQ(move("150", {"--yes", "--reason", "pass"}).exit_code, 0);
    EXPECT_EQ(last_move(), "billing orders 0 40 150 f pass " + role + " t");
    EXPECT_EQ(database().value("SELECT concat_ws(' ', begin_offset, end_offset, reason, "
                               "skipped_by) FROM skipped_ranges"),
              "40 150 pass " + role);
    EXPECT_EQ(move("0", {"--adopt-topic-id", "--yes", "--reason", "made again"}).exit_code, 0);
    EXPECT_EQ(last_move(), "billing orders 0 150 0 t made again " + role + " t");
    database().execute("DELETE FROM fences");
    EXPECT_EQ(move("7", {"--yes", "--reason", "lost"}).exit_code, 0);
    EXPECT_EQ(last_move(), "billing orders 0 7 f lost " + role + " t") << "there was no fence";
}

TEST_F(Operator, AFenceOfATopicThatKafkaHasNotIsRefused) {
    MockCluster cluster;
    cluster.create_topic("refunds", 1);
    const Configured configured(cluster.bootstrap_servers());
    const Outcome unknown = run({"offsets", "-c", configured.file(), "--topic", "orders",
                                 "--partition", "0", "--set", "0", "--yes", "--reason", "a test"});
    EXPECT_EQ(unknown.exit_code, 64) << unknown.output;
    EXPECT_THAT(unknown.output, HasSubstr("Kafka has no topic orders"));
    EXPECT_EQ(database().number("SELECT count(*) FROM fences"), 0);
}

}  // namespace
}  // namespace onceward::operator_tests
