#pragma once
// A worker without Kafka: takes fences, reads a scripted log from them, and runs the product's
// Processor, with the product's rules for failures. The checker below reads only the database and
// the log. A CoreWorker belongs to one thread at a time.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "dedup/ledger/ledger.h"
#include "dedup/processor.h"
#include "dedup/server/frozen_session_guard.h"
#include "tests/support/postgres.h"
#include "tests/support/scripted_log.h"

namespace onceward::support {

// Inserts (digest, key, partition, record_offset, <columns>) from each message, where the further
// columns are made by `expressions` over the message's payload, a text named `payload`.
class EffectSink final : public Sink {
  public:
    explicit EffectSink(std::string table, std::string columns = "payload",
                        std::string expressions = "payload");
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override;
    std::optional<std::vector<SinkStatement>> at_once(
        const BatchContext& context, std::span<const Message* const> messages) override;

    // Whether it has statements for a transaction in one round trip.
    bool has_statements = false;
    // How often write() was called, and at_once() gave statements.
    std::atomic<int> writes = 0;
    std::atomic<int> at_once_given = 0;

  private:
    std::string statement_;
};

// The columns that an EffectSink without arguments fills.
inline constexpr const char* effect_columns =
    "digest uuid NOT NULL, key text NOT NULL, partition integer NOT NULL, record_offset bigint "
    "NOT NULL, "
    "landed bigint GENERATED ALWAYS AS IDENTITY";

// Calls a function at each step.
class StepHook final : public StepObserver {
  public:
    explicit StepHook(std::function<void(Step)> hook) : hook_(std::move(hook)) {}
    void reached(Step step) override { hook_(step); }

  private:
    std::function<void(Step)> hook_;
};

struct CoreWorkerOptions {
    ConnectionOptions connection;
    std::string group = "group";
    std::string topic = "topic";
    std::string name = "worker";
    std::string ledger = "ledger";
    StoreKind store = StoreKind::table;
    bool any_store = false;  // `store: auto`
    Reach reach = Reach::global;
    // The windows of the worker's process; default: a process of its own.
    std::shared_ptr<LogWindows> log_windows = std::make_shared<LogWindows>();
    std::chrono::seconds retention{24 * 3600};
    std::set<int> partitions;  // default: all of the log
    std::size_t batch_messages = 2000;
    RejectPolicy policy{.cap_share = 1.0};
    StepObserver* observer = nullptr;
    std::function<std::set<Partition>()> overdue;
    // Where there is one, every message is deferred to it.
    std::function<void(Message&, std::pmr::memory_resource&)> finish;
    FrozenSessionGuard* guard = nullptr;
    // Where the sink's results are stored; and who is told of the replies.
    std::optional<ResultReplayOptions> answers = std::nullopt;
    Replies* replies = nullptr;
    std::function<void(const FenceMove&)> on_commit;
    // Forgets the fence's offsets at a reconnect and begins where the memory says; a broken build.
    bool begin_from_memory = false;
};

class CoreWorker {
  public:
    CoreWorker(const ScriptedLog& log, Sink& sink, CoreWorkerOptions options);
    ~CoreWorker();
    CoreWorker(const CoreWorker&) = delete;
    CoreWorker& operator=(const CoreWorker&) = delete;

    // Connects, takes the fences that it lacks, fills a batch and works on it; a failure is handled
    // as the product's worker does it. False where all of its partitions are read to their end.
    // Throws what stops a topic.
    bool step();
    // Steps until the end; false where that took longer than the limit.
    bool run(std::chrono::milliseconds limit = std::chrono::seconds(60));

    // The parts of a step, for tests that put something in between.
    void connect();
    void take_fences();
    bool fill();
    std::set<Partition> process();
    void handle(const PostgresError& error, FailureAction action);
    void lose_connection();
    // Throws the batch away, where there is one.
    void abandon();

    bool connected() const { return connection_.has_value(); }
    // Registered, so that there are claims and a processor.
    bool ready() const { return processor_ != nullptr; }
    Connection& connection() { return *connection_; }
    Fences& fences() { return fences_; }
    Processor& processor() { return *processor_; }
    ClaimStore& claims() { return *claims_; }
    int ledger() const { return ledger_; }
    Offset position(int partition) const { return positions_.at(Partition{partition}); }
    void assign(std::set<int> partitions);

    // What went wrong, by SQLSTATE ('' where the connection broke without one); what was tried
    // again.
    std::map<std::string, int> failures;
    int in_doubt = 0;
    int missed = 0;
    int waited = 0;  // for a message to be tried again
    int store_changes = 0;
    std::vector<std::chrono::milliseconds> pauses;
    Totals totals;  // of what was committed with an answer

  private:
    void register_ledger_once();
    const ScriptedLog& log_;
    CoreWorkerOptions options_;
    std::unique_ptr<Sink> dead_letters_;
    Sink& sink_;
    std::optional<Connection> connection_;
    Fences fences_;
    std::unique_ptr<ClaimStore> claims_;
    std::unique_ptr<ResultStore> results_;
    std::unique_ptr<ResultReplay> answers_;
    std::unique_ptr<Processor> processor_;
    // where the reading continues, of the partitions whose fence is mine
    std::map<Partition, Offset> positions_;
    int ledger_ = 0;
};

// What must hold at rest, whatever happened before; each line of the answer is a violation.
// `effects` is the qualified name of the sink's table. Unless `rejected`, every key of the log must
// have its effect.
struct Expectation {
    bool some_rejected = false;  // dead letters are expected: a key may then have no effect
    std::string group = "group";
    std::string topic = "topic";
};
std::vector<std::string> violations(FreshSchema& schema, const ScriptedLog& log,
                                    const std::string& effects, const Expectation& expected = {});

}  // namespace onceward::support
