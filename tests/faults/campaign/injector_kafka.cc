// The faults of the broker, its topics and the group's offset.
#include <array>

#include "tests/faults/campaign/injector.h"
#include "tests/support/eventually.h"

namespace onceward::campaign {

using namespace std::chrono_literals;

// A request to a frozen broker waits until it is thawed.
bool Injector::broker_away(const FaultPlan& fault) {
    const bool away =
        another_is_on(FaultKind::broker_kill) || another_is_on(FaultKind::broker_freeze);
    if (away) parts_.tally.nothing(fault.kind, "the broker is away");
    return away;
}

void Injector::kill_broker(const FaultPlan& fault) {
    if (broker_away(fault)) return;
    parts_.feeder.hold();
    parts_.stage.broker().kill_now();
    broker_killed_ = Clock::now();
    go_on(fault, [this, fault] {
        // A process ends with the thread that launched it.
        parts_.stage.broker().launch();
        starting_broker_ = std::async(std::launch::async, [this] { return await_coordinator(); });
        await_broker(fault);
    });
}

// Seen in seed 22: a broker that was back answered for a minute and a half that it was not the
// group's coordinator. That is no fault of the plan's: it is killed and started once more.
bool Injector::await_coordinator() {
    parts_.stage.broker().await();
    try {
        support::Kafka(parts_.stage.direct_bootstrap_servers())
            .committed_offset(parts_.names.group, parts_.names.topics.front(), 0);
    } catch (const std::runtime_error&) {
        return false;
    }
    return true;
}

// A start takes seconds, and sometimes half a minute: what else runs must end in its time.
void Injector::await_broker(const FaultPlan& fault) {
    if (starting_broker_.wait_for(20ms) != std::future_status::ready) {
        if (Clock::now() > broker_killed_ + Fleet::longest_restart) {
            parts_.fleet.server_is_long_away();
        }
        ongoing_.push_back(
            {fault, Clock::now() + 50ms, {}, [this, fault] { await_broker(fault); }});
        return;
    }
    if (!starting_broker_.get() && !started_again_) {
        started_again_ = true;
        parts_.stage.broker().kill_now();
        parts_.stage.broker().launch();
        starting_broker_ = std::async(std::launch::async, [this] { return await_coordinator(); });
        ongoing_.push_back(
            {fault, Clock::now() + 50ms, {}, [this, fault] { await_broker(fault); }});
        return;
    }
    parts_.feeder.go_on();
    parts_.tally.count(fault.kind);
}

void Injector::freeze_broker(const FaultPlan& fault) {
    if (broker_away(fault)) return;
    parts_.stage.broker().freeze();
    go_on(fault, [this, fault] {
        parts_.stage.broker().thaw();
        parts_.tally.count(fault.kind);
    });
}

int Injector::led_by(int broker) {
    int led = 0;
    for (const std::string& topic : parts_.names.topics)
        led += parts_.stage.kafka().led_by(topic, broker);
    return led;
}

// It leaves in order, so that its partitions are led by others at once; when it is back it leads
// them again.
void Injector::move_leaders(const FaultPlan& fault) {
    if (moved_.valid()) {
        parts_.tally.nothing(fault.kind, "another broker is away");
        return;
    }
    const int number = 2 + static_cast<int>(fault.target % 2);
    const int led = led_by(number);
    parts_.stage.other_broker(number).stop();
    go_on(fault, [this, fault, number, led] {
        // A process ends with the thread that launched it.
        parts_.stage.other_broker(number).launch();
        moved_ = std::async(std::launch::async,
                            [this, number] { parts_.stage.other_broker(number).await(); });
        await_moved(fault, number, led);
    });
}

void Injector::await_moved(const FaultPlan& fault, int broker, int led) {
    if (moved_.wait_for(20ms) != std::future_status::ready) {
        ongoing_.push_back({fault, Clock::now() + 50ms, {}, [this, fault, broker, led] {
                                await_moved(fault, broker, led);
                            }});
        return;
    }
    moved_.get();
    count(fault, led > 0, "it led nothing");
}

void Injector::commit_as_stranger(const FaultPlan& fault) {
    support::ForeignCommit commit;
    commit.bootstrap_servers = parts_.stage.direct_bootstrap_servers();
    commit.group = parts_.names.group;
    commit.own_topic = parts_.names.side_topic;
    commit.properties = group_properties(parts_.plan.fleet);
    commit.topic = parts_.names.topics[fault.target % parts_.names.topics.size()];
    commit.partition = 0;
    // To the beginning, a little on, and beyond the log's end.
    commit.offset = std::array<std::int64_t, 3>{0, 100, 1'000'000}[fault.amount % 3];
    commit.limit = 6000ms;
    auto done = std::make_shared<std::atomic<bool>>(false);
    parts_.tally.write("foreign_commit begins");
    by_strangers_.emplace_back(fault, done);
    strangers_.emplace_back([commit, done] {
        try {
            *done = support::commit_as_a_member(commit);
        } catch (const std::exception&) {
            // The broker may be away: no effect.
        }
    });
}

void Injector::add_partitions(const FaultPlan& fault) {
    if (broker_away(fault)) return;
    if (another_is_on(FaultKind::fail_over) || another_is_on(FaultKind::restore)) {
        parts_.tally.nothing(fault.kind, "its fence would be lost");
        return;
    }
    const std::size_t topic = fault.target % parts_.names.topics.size();
    const int total = parts_.feeder.partitions(topic) + 1 + static_cast<int>(fault.amount % 2);
    parts_.stage.kafka().add_partitions(parts_.names.topics[topic], total);
    parts_.feeder.set_partitions(topic, total);
    parts_.tally.count(fault.kind);
}

void Injector::trim(const FaultPlan& fault) {
    if (broker_away(fault)) return;
    // After a fail-over the fence may go back, and what it then needs must be there.
    if (parts_.plan.goes_back()) {
        parts_.tally.nothing(fault.kind, "the fence may go back");
        return;
    }
    const std::size_t topic = fault.target % parts_.names.topics.size();
    const int partition = static_cast<int>(fault.target / 7) % parts_.feeder.partitions(topic);
    const std::int64_t fence =
        session()->number("SELECT coalesce(max(next_offset), 0) FROM " + parts_.names.schema +
                          ".fences WHERE topic = '" + parts_.names.topics[topic] +
                          "' AND partition = " + std::to_string(partition));
    const std::int64_t begin = fence * fault.amount / 3;
    if (begin == 0) {
        parts_.tally.nothing(fault.kind, "nothing has been passed yet");
        return;
    }
    support::Kafka& kafka = parts_.stage.kafka();
    kafka.delete_records(parts_.names.topics[topic], partition, begin);
    count(fault, kafka.offsets(parts_.names.topics[topic], partition).first == begin,
          "the log's start stands elsewhere");
}

}  // namespace onceward::campaign
