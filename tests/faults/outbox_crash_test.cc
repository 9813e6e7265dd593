// I10 under SIGKILL: workers that die when Kafka has records of the outbox and their rows are still
// there. What was published is read from Kafka, what was applied from the table.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/faults/crash_scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::faults {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int partitions = 3;
constexpr milliseconds limit{120'000};

class OutboxUnderKills : public ::testing::Test {
  protected:
    OutboxUnderKills() { support::kafka().create_topic(target_, partitions); }

    static SceneOptions publishing(const std::string& target) {
        SceneOptions options;
        options.topic_more = "    also_publish:\n      topic: " + target +
                             "\n      key: /account\n      fields:\n"
                             "        key: {header: Idempotency-Key}\n"
                             "        partition: {metadata: partition}\n"
                             "        offset: {metadata: offset}\n";
        return options;
    }
    // A worker that ends with the n-th set of records that Kafka has and the outbox too.
    void kill_one(int nth) {
        ChildProcess worker =
            scene_.start_worker("ONCEWARD_KILL_AT=before_outbox_delete:" + std::to_string(nth));
        const auto deadline = steady_clock::now() + limit;
        std::optional<int> status;
        while (!status && steady_clock::now() < deadline) {
            scene_.send(50);
            status = worker.wait(milliseconds(50));
        }
        ASSERT_TRUE(status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL)
            << scene_.last_log();
    }

    std::string target_ = support::unique_name("published");
    CrashScene scene_{support::seed(), publishing(target_)};
};

TEST_F(OutboxUnderKills, EachAppliedMessageIsPublishedUnderOneIdInItsOrder) {
    for (const int nth : {1, 3, 2, 5}) kill_one(nth);
    ASSERT_FALSE(HasFatalFailure());
    ChildProcess worker = scene_.start_worker();
    scene_.send(2000);
    ASSERT_TRUE(scene_.drained(limit)) << scene_.last_log();
    ASSERT_TRUE(support::eventually(limit, [&] {
        return scene_.database().number("SELECT count(*) FROM outbox") == 0;
    })) << scene_.last_log();
    scene_.stop_worker(worker);
    EXPECT_THAT(complaints(scene_.verdict()), ::testing::IsEmpty());

    const auto records = support::kafka().read_all(target_, partitions);
    std::map<std::string, std::set<std::string>> ids;  // of each idempotency key
    std::set<std::string> all_ids;
    std::map<std::pair<std::string, int>, std::int64_t> last;  // offset, by account and partition
    for (const support::ReadMessage& record : records) {
        const auto payload = nlohmann::json::parse(record.payload.value());
        const auto key = payload.at("key").get<std::string>();
        const std::string id = record.headers.at(0).second.value();
        EXPECT_EQ(record.headers.at(0).first, "onceward-id");
        if (ids[key].insert(id).second) {
            const auto offset = payload.at("offset").get<std::int64_t>();
            const std::pair place(record.key.value(), payload.at("partition").get<int>());
            std::int64_t& before = last.try_emplace(place, -1).first->second;
            EXPECT_LT(before, offset) << "the first copies are out of order";
            before = offset;
        }
        all_ids.insert(id);
    }
    for (const auto& [key, of_key] : ids) EXPECT_EQ(of_key.size(), 1U) << key;
    std::set<std::string> published;
    for (const auto& [key, of_key] : ids) published.insert(key);
    std::set<std::string> applied;
    for (const auto& row : scene_.database().execute("SELECT key FROM payments")) {
        applied.insert(row[0].value());
    }
    EXPECT_EQ(published, applied);
    EXPECT_EQ(all_ids.size(), applied.size());
    EXPECT_GT(records.size(), applied.size()) << "the kills sent nothing twice";
}

}  // namespace
}  // namespace onceward::faults
