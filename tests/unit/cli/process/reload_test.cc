// A reload as a whole: what is read, whether all of it is taken, and what those who asked are told.

#include "cli/process/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/configuration/load.h"
#include "tests/support/unique.h"

namespace onceward {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;
using Result = ReloadOutcome::Result;

std::string file_text(const std::string& topics, const std::string& more = "") {
    return "group: shop\nkafka: {bootstrap_servers: 'localhost:1'}\npostgres: {dsn: "
           "'host=nowhere'}\n" +
           more + "topics:\n" + topics;
}

std::string topic(const std::string& name, const std::string& more = "") {
    return "  - name: " + name + "\n    key: {preset: idempotency-key}\n    sink: {table: " + name +
           ", columns: {id: /id}}\n" + more;
}

class ReloadTest : public testing::Test {
  protected:
    ReloadTest() : current_(first()) {}
    ~ReloadTest() override { std::filesystem::remove(file_); }

    Configuration first() const {
        write(file_text(topic("orders")));
        return load_configuration(file_).configuration;
    }
    void write(const std::string& text) const { std::ofstream(file_) << text; }
    // As the run loop would, until the one who asked is told.
    ReloadOutcome reload() {
        const auto outcome = reloads_.ask("test");
        for (int turns = 0; turns < 3; ++turns) reloads_.tend();
        return outcome.get();
    }
    std::size_t topics() const { return current_.get()->topics.size(); }

    std::string file_ = testing::TempDir() + support::unique_name("reload") + ".yaml";
    CurrentConfiguration current_;
    int applied_ = 0;
    bool ended_ = true;         // the workers of before
    std::string states_;        // what the service manager hears
    std::set<std::string> on_;  // the servers of the last one
    bool fails_ = false;
    Reloads reloads_{current_,
                     {.apply =
                          [this](const ReloadPlan& plan) {
                              if (fails_) throw std::runtime_error("no memory");
                              ++applied_;
                              on_ = plan.servers;
                          },
                      .applied = [this] { return ended_; },
                      .begins = [this] { states_ += "reloading "; },
                      .ends = [this] { states_ += "ready "; }}};
};

TEST_F(ReloadTest, AppliesATopicMoreATopicLessAndAPolicy) {
    write(file_text(topic("orders") + topic("refunds")));
    EXPECT_EQ(reload().result, Result::applied);
    EXPECT_EQ(topics(), 2U);
    EXPECT_EQ(on_, std::set<std::string>{default_database});
    write(file_text(topic("orders", "    on_reject: halt\n")));
    EXPECT_EQ(reload().result, Result::applied);
    EXPECT_EQ(topics(), 1U);
    EXPECT_EQ(current_.get()->topics[0].reject.action, RejectPolicy::Action::halt);
    EXPECT_EQ(applied_, 2);
    EXPECT_EQ(states_, "reloading ready reloading ready ");
    EXPECT_EQ(reloads_.state().applied, 2);
    EXPECT_TRUE(reloads_.state().last_success);
}

TEST_F(ReloadTest, AppliesNothingOfAFileThatNeedsARestart) {
    write(file_text(topic("orders") + topic("refunds"), "workers: 3\n"));
    const ReloadOutcome outcome = reload();
    EXPECT_EQ(outcome.result, Result::refused);
    EXPECT_THAT(outcome.refusal, HasSubstr("restart: workers: "));
    EXPECT_EQ(topics(), 1U);
    EXPECT_EQ(applied_, 0);
    EXPECT_EQ(states_, "reloading ready ");
    EXPECT_EQ(reloads_.state().refused, 1);
    EXPECT_EQ(reloads_.state().refusal, outcome.refusal);
    EXPECT_FALSE(reloads_.state().last_success);
}

TEST_F(ReloadTest, RefusesWhatIsNotYamlNotAConfigurationOrNotThere) {
    write("topics: [\n");
    EXPECT_EQ(reload().result, Result::refused);
    write(file_text(topic("orders", "    retenton: 3h\n")));
    EXPECT_THAT(reload().refusal, HasSubstr("`retenton` is not an option"));
    write(file_text(topic("orders", "    format: protobuf\n    protobuf: {descriptor_set: "
                                    "gone.desc, message: a.B}\n")));
    EXPECT_THAT(reload().refusal, HasSubstr("gone.desc"));
    std::filesystem::remove(file_);
    EXPECT_THAT(reload().refusal, HasSubstr("cannot be read"));
    // What the workers would find out when they begin.
    const std::string types = file_ + ".desc";
    std::ofstream(types) << "not a descriptor set";
    write(file_text(topic("orders") + "  - name: refunds\n    format: protobuf\n    protobuf: "
                                      "{descriptor_set: '" +
                    types + "', message: a.B}\n    key: {preset: idempotency-key}\n    sink: "
                            "{table: refunds, columns: {id: id}}\n"));
    EXPECT_EQ(reload().result, Result::refused);
    std::filesystem::remove(types);
    EXPECT_EQ(applied_, 0);
    EXPECT_EQ(reloads_.state().refused, 5);
    write(file_text(topic("orders")));
    EXPECT_EQ(reload().result, Result::unchanged);
    EXPECT_EQ(reloads_.state().refusal, "");
    EXPECT_EQ(reloads_.state().unchanged, 1);
}

TEST_F(ReloadTest, TellsThoseWhoAskedWhenTheWorkersOfBeforeHaveEnded) {
    ended_ = false;
    write(file_text(topic("orders") + topic("refunds")));
    const auto first = reloads_.ask("SIGHUP");
    reloads_.tend();
    EXPECT_TRUE(reloads_.state().under_way);
    // Asked while it is under way: the file may have changed since it was read.
    write(file_text(topic("orders")));
    const auto second = reloads_.ask("admin port");
    const auto third = reloads_.ask("SIGHUP");
    for (int turns = 0; turns < 5; ++turns) reloads_.tend();
    EXPECT_EQ(applied_, 1) << "the second waits for the first";
    EXPECT_EQ(first.wait_for(0s), std::future_status::timeout);
    ended_ = true;
    for (int turns = 0; turns < 5; ++turns) reloads_.tend();
    EXPECT_EQ(first.get().result, Result::applied);
    EXPECT_EQ(second.get().result, Result::applied);
    EXPECT_EQ(third.get().result, Result::applied);
    EXPECT_EQ(applied_, 2) << "two asked, and one file was read for both";
    EXPECT_EQ(topics(), 1U);
}

TEST_F(ReloadTest, ContinuesAsItIsIfItCannotBeApplied) {
    fails_ = true;
    write(file_text(topic("orders") + topic("refunds")));
    const ReloadOutcome outcome = reload();
    EXPECT_EQ(outcome.result, Result::refused);
    EXPECT_EQ(outcome.refusal, "no memory");
    EXPECT_EQ(topics(), 1U);
    fails_ = false;
    EXPECT_EQ(reload().result, Result::applied);
}

TEST_F(ReloadTest, AnswersTheAdminPortAndDoesNotKeepItFromEnding) {
    const ReloadAct act = reload_act(reloads_, 1h);
    EXPECT_THROW(act([] { return true; }), std::runtime_error);
}

TEST_F(ReloadTest, TellsTheAdminPortThatItIsUnderWayIfItTakesLongerThanADrainMay) {
    ended_ = false;  // a worker of before does not end
    write(file_text(topic("orders") + topic("refunds")));
    const ReloadAct act = reload_act(reloads_, 0ms);
    const auto answers = [&act] {
        int turns = 0;
        return act([&turns] { return ++turns > 50; })["result"];
    };
    EXPECT_EQ(answers(), "under_way") << "nobody has begun it";
    reloads_.tend();
    EXPECT_EQ(answers(), "under_way");
    EXPECT_TRUE(reloads_.state().under_way);
    ended_ = true;
    for (int turns = 0; turns < 5; ++turns) reloads_.tend();
    EXPECT_EQ(reloads_.state().applied, 1) << "it was not given up";
    EXPECT_EQ(reloads_.state().unchanged, 1) << "the second one asked found nothing more";
}

}  // namespace
}  // namespace onceward
