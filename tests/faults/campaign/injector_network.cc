// The faults of the proxies: what becomes of connections and of the bytes on them.
#include <array>

#include "tests/faults/campaign/injector.h"
#include "tests/support/eventually.h"

namespace onceward::campaign {

using namespace std::chrono_literals;
using support::CommitFault;
using support::CuttingProxy;

namespace {

bool is_latency(FaultKind kind) {
    return kind == FaultKind::kafka_latency || kind == FaultKind::postgres_latency;
}

using support::GroupRequest;

struct AnswerError {
    GroupRequest request;
    std::int16_t code;
};

// As the protocol numbers them. FENCED_INSTANCE_ID is not among them: it ends the client for good.
constexpr std::int16_t request_timed_out = 7;
constexpr std::int16_t coordinator_loads = 14;
constexpr std::int16_t no_coordinator = 15;
constexpr std::int16_t not_coordinator = 16;
constexpr std::int16_t illegal_generation = 22;
constexpr std::int16_t unknown_member = 25;
constexpr std::int16_t rebalance_in_progress = 27;
constexpr std::int16_t fenced_member_epoch = 110;
constexpr std::int16_t stale_member_epoch = 113;

constexpr std::array commit_errors{request_timed_out, coordinator_loads,  no_coordinator,
                                   not_coordinator,   illegal_generation, unknown_member,
                                   rebalance_in_progress};
constexpr std::array commit_errors_of_consumer_protocol{
    request_timed_out, coordinator_loads, not_coordinator, unknown_member, stale_member_epoch};
constexpr std::array<AnswerError, 11> group_errors{{
    {GroupRequest::heartbeat, rebalance_in_progress},
    {GroupRequest::heartbeat, illegal_generation},
    {GroupRequest::heartbeat, unknown_member},
    {GroupRequest::heartbeat, not_coordinator},
    {GroupRequest::join_group, coordinator_loads},
    {GroupRequest::join_group, not_coordinator},
    {GroupRequest::join_group, unknown_member},
    {GroupRequest::sync_group, rebalance_in_progress},
    {GroupRequest::sync_group, illegal_generation},
    {GroupRequest::sync_group, unknown_member},
    {GroupRequest::sync_group, not_coordinator},
}};
constexpr std::array<AnswerError, 4> group_errors_of_consumer_protocol{{
    {GroupRequest::consumer_group_heartbeat, coordinator_loads},
    {GroupRequest::consumer_group_heartbeat, not_coordinator},
    {GroupRequest::consumer_group_heartbeat, unknown_member},
    {GroupRequest::consumer_group_heartbeat, fenced_member_epoch},
}};

AnswerError error_of(const FaultPlan& fault, bool consumer_protocol) {
    const auto of = [&](const auto& errors) { return errors[fault.target % errors.size()]; };
    if (fault.kind == FaultKind::group_error)
        return consumer_protocol ? of(group_errors_of_consumer_protocol) : of(group_errors);
    return {GroupRequest::offset_commit,
            consumer_protocol ? of(commit_errors_of_consumer_protocol) : of(commit_errors)};
}

}  // namespace

void Injector::cut(const FaultPlan& fault, CuttingProxy& proxy) {
    const std::uint64_t before = proxy.cuts();
    proxy.cut_all();
    count(fault, support::eventually(200ms, [&] { return proxy.cuts() > before; }),
          "no connection to cut");
}

void Injector::byte_cut(const FaultPlan& fault, CuttingProxy& proxy) {
    const std::uint64_t before = proxy.byte_cuts();
    proxy.cut_at(fault.target % 2 == 0 ? CuttingProxy::Direction::to_server
                                       : CuttingProxy::Direction::to_client,
                 fault.amount);
    // The limit holds for connections that begin now.
    proxy.cut_all();
    go_on(fault, [this, fault, &proxy, before] {
        proxy.cut_nowhere();
        count(fault, proxy.byte_cuts() > before, "no connection came so far");
    });
}

void Injector::black_hole(const FaultPlan& fault, CuttingProxy& proxy) {
    proxy.black_hole(true);
    const std::uint64_t before = proxy.bytes();
    go_on(fault, [this, fault, &proxy, before] {
        const std::uint64_t in_the_hole = proxy.bytes();
        proxy.black_hole(false);
        // Half of the holes end in a reset, the others as if nothing had been.
        if (fault.target % 2 == 0) proxy.cut_all();
        const bool waited = support::eventually(200ms, [&] { return proxy.bytes() > in_the_hole; });
        count(fault, waited && in_the_hole - before < 200'000, "nobody wanted to say anything");
    });
}

void Injector::slow_down(const FaultPlan& fault, CuttingProxy& proxy) {
    const bool latency = is_latency(fault.kind);
    if (latency) {
        proxy.delay(milliseconds(fault.amount));
    } else {
        proxy.limit(fault.amount);
    }
    const std::uint64_t before = proxy.bytes();
    go_on(fault, [this, fault, latency, &proxy, before] {
        if (latency) {
            proxy.delay(0ms);
        } else {
            proxy.limit(0);
        }
        count(fault, proxy.bytes() > before, "no bytes came");
    });
}

void Injector::change_answers(const FaultPlan& fault) {
    const bool consumer_protocol =
        parts_.plan.fleet.assignor == Assignor::consumer_protocol;
    const AnswerError error = error_of(fault, consumer_protocol);
    parts_.tally.write(std::string(name_of(fault.kind)) + ": code " + std::to_string(error.code) +
                       " to request " + std::to_string(static_cast<int>(error.request)));
    const std::size_t number = answers_->add(error.request, error.code, fault.amount);
    go_on(fault, [this, fault, number] {
        const std::int64_t met = answers_->finish(number);
        if (met > 0) {
            parts_.tally.count(fault.kind, met);
        } else {
            parts_.tally.nothing(fault.kind, "no such answer came");
        }
    });
}

void Injector::at_commits(const FaultPlan& fault, CommitFault what) {
    const std::size_t number = commits_->add(what, fault.amount);
    const bool hole = what == CommitFault::hole_before || what == CommitFault::hole_after;
    go_on(fault, [this, fault, hole, number] {
        const std::int64_t met = commits_->finish(number);
        // Nothing but a cut ends such a hole: the peer acknowledges every byte.
        if (hole && met > 0) parts_.stage.postgres_proxy().cut_all();
        if (met > 0) {
            parts_.tally.count(fault.kind, met);
        } else {
            parts_.tally.nothing(fault.kind, "no COMMIT came");
        }
    });
}

}  // namespace onceward::campaign
