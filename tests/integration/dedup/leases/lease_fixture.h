#pragma once
// A lease ledger on a real server, effects that do what a test says, and workers without Kafka.
// Used by the test's thread alone.

#include <functional>
#include <map>

#include "dedup/fence/fence.h"
#include "dedup/leases/lease_processor.h"
#include "dedup/ledger/ledger.h"
#include "sinks/dead_letters/dead_letter_sink.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {

// Thrown out of a run that would wait for what does not come.
struct Enough {};

class ScriptedEffects : public Effects {
  public:
    // What becomes of a call, `call` being 1 for the first one of its key; none: not yet.
    using Script = std::function<std::optional<EffectOutcome>(const std::string& key, int call)>;
    explicit ScriptedEffects(Script script) : script_(std::move(script)) {}

    static EffectOutcome done() {
        EffectOutcome outcome;
        outcome.kind = EffectOutcome::Kind::done;
        outcome.result.status = 200;
        return outcome;
    }
    static EffectOutcome failed() {
        EffectOutcome outcome;
        outcome.kind = EffectOutcome::Kind::failed;
        outcome.result.status = 422;
        outcome.reason = "answered 422";
        return outcome;
    }
    static EffectOutcome again(std::optional<std::chrono::milliseconds> not_before = {}) {
        EffectOutcome outcome;
        outcome.not_before = not_before;
        outcome.reason = "answered 503";
        return outcome;
    }

    std::size_t concurrency() const override { return concurrency_; }
    std::chrono::milliseconds longest() const override { return std::chrono::milliseconds(100); }
    void begin(const Effect& effect) override {
        const std::string key(effect.message->key_text);
        order.push_back(key);
        under_way_[effect.number] = {key, ++calls[key]};
    }
    std::vector<EffectOutcome> wait(std::chrono::milliseconds most) override {
        ++waits;
        if (before_wait) before_wait();
        std::vector<EffectOutcome> outcomes;
        for (auto at = under_way_.begin(); at != under_way_.end();) {
            std::optional<EffectOutcome> outcome = script_(at->second.first, at->second.second);
            if (!outcome) {
                ++at;
                continue;
            }
            outcome->number = at->first;
            outcomes.push_back(std::move(*outcome));
            at = under_way_.erase(at);
        }
        if (outcomes.empty()) eventually(most, [] { return false; });
        return outcomes;
    }
    void cancel(std::uint64_t number) override {
        under_way_.erase(number);
        ++cancelled;
    }

    std::map<std::string, int> calls;
    std::vector<std::string> order;
    int waits = 0;
    int cancelled = 0;
    std::size_t concurrency_ = 4;
    std::function<void()> before_wait;

  private:
    Script script_;
    std::map<std::uint64_t, std::pair<std::string, int>> under_way_;
};

struct LeaseWorkerOptions {
    std::chrono::milliseconds lease{60'000};
    RejectPolicy policy{.cap_share = 1.0};
    EffectRetries retries{.attempts = 2, .backoff = std::chrono::milliseconds(5)};
    std::set<int> partitions = {};  // default: all
    std::function<std::set<Partition>()> overdue = {};
    std::function<std::set<Partition>()> leaving = {};
    StepObserver* observer = nullptr;
    bool keeps_answers = false;
    ResultReplayOptions answers{};
    Replies* replies = nullptr;  // where answers are kept
    std::function<void(LeaseEvent)> tell = {};
};

class LeaseTest : public CoreTest {
  protected:
    // One worker: its session, fences and processor.
    struct LeaseWorker {
        LeaseWorker(LeaseTest& test, const ScriptedLog& script, Effects& effects,
                    LeaseWorkerOptions with = {})
            : log(script), options(std::move(with)), connection(test.schema_.worker()) {
            LedgerOptions ledger;
            ledger.name = "calls";
            ledger.store = StoreKind::lease;
            ledger.stores_results = options.keeps_answers;
            registered = register_ledger(connection, ledger, "group", "topic");
            if (options.partitions.empty()) {
                for (int i = 0; i < log.partitions(); ++i) options.partitions.insert(i);
            }
            if (options.keeps_answers) {
                results.emplace(registered.ledger, StoreKind::lease, 1 << 20);
                answers.emplace(options.answers, BatchContext{"group", "topic"}, *results,
                                options.replies);
            }
            processor.emplace(BatchContext{"group", "topic"}, options.policy,
                              Leases(registered, options.lease),
                              LeaseProcessor::Parts{fences,
                                                    effects,
                                                    dead_letters,
                                                    options.observer,
                                                    options.overdue,
                                                    {},
                                                    options.leaving,
                                                    options.retries,
                                                    answers ? &*answers : nullptr,
                                                    options.tell},
                              [this](std::span<const FenceMove> moves) {
                                  for (const FenceMove& move : moves) totals += move.totals;
                              });
        }
        // Takes the fences and a batch of all that the log has.
        void start() {
            Batch batch;
            batch.topic = "topic";
            for (const int raw : options.partitions) {
                const Partition partition{raw};
                if (!fences.look(connection, "topic", partition)) {
                    fences.create(connection, "topic", {{partition, {Offset{0}}}},
                                  registered.ledger);
                }
                const FenceState state = fences.take_over(connection, "topic", partition, {},
                                                          registered.ledger, [] { return true; });
                append(batch, log.read(partition, state.next_offset, 1000));
            }
            processor->start(std::move(batch));
        }
        // False if a message waits; its partition is then thrown away.
        bool run() {
            try {
                while (!processor->idle()) missed = processor->run(connection);
                return true;
            } catch (const MessageWaits& waits) {
                waited = waits.pause;
                processor->abandon({waits.partition});
                return false;
            }
        }
        // Until all of the log has been passed.
        void run_all() {
            EXPECT_TRUE(eventually(std::chrono::seconds(30), [&] {
                start();
                bool all = true;
                while (!processor->idle()) all = run() && all;
                return all;
            }));
        }

        const ScriptedLog& log;
        LeaseWorkerOptions options;
        Connection connection;
        RegisteredLedger registered;
        Fences fences{"group", "worker"};
        DeadLetterSink dead_letters;
        Totals totals;
        std::set<Partition> missed;
        std::chrono::milliseconds waited{0};
        std::optional<ResultStore> results;
        std::optional<ResultReplay> answers;
        std::optional<LeaseProcessor> processor;  // after what it uses
    };

    static std::optional<EffectOutcome> always_done(const std::string&, int) {
        return ScriptedEffects::done();
    }
    // `state attempts counted` of a key.
    std::string lease(const std::string& key) {
        return database().value(
            "SELECT concat_ws(' ', state, attempts, counted) FROM leases "
            "WHERE digest = '" +
            uuid_text(scripted_digest(key)) + "'");
    }
    std::int64_t leases(const std::string& where) {
        return database().number("SELECT count(*) FROM leases WHERE " + where);
    }
    void end_all_leases() {
        database().execute(
            "UPDATE leases SET lease_until = clock_timestamp() - interval '1 s' "
            "WHERE state = 'in_flight'");
    }
    // Whatever the owner does with that one key, its row stays as it is.
    void expect_powerless(Leases& owner, Connection& connection, const Digest& digest) {
        const std::string row = "SELECT leases::text FROM leases";
        const std::string before = database().value(row);
        const LeaseTries tries{digest, 1};
        EXPECT_TRUE(owner.extend(connection, {&tries, 1}).empty());
        EXPECT_EQ(database().value(row), before) << "it was extended";
        owner.release(connection, {&tries, 1});
        EXPECT_EQ(database().value(row), before) << "it was released";
        OwnedTransaction transaction(connection);
        const LeaseEnd end{digest, true, true, 500, "late"};
        EXPECT_TRUE(owner.finish(transaction, {&end, 1}, false).empty());
        transaction.commit();
        EXPECT_EQ(database().value(row), before) << "it was ended";
    }
    std::string totals() {
        return database().value(
            "SELECT concat_ws(' ', sum(applied), sum(duplicates), "
            "sum(conflicts), sum(dead_lettered), sum(skipped)) FROM fences");
    }
};

}  // namespace onceward::support
