#include "dedup/fence/fence.h"

#include <algorithm>
#include <stdexcept>

#include "dedup/base/mutants.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

const std::string nobody = "00000000-0000-0000-0000-000000000000";

FenceState read_state(const QueryResult& result, Partition partition) {
    FenceState state;
    state.partition = partition;
    state.owner = result.text(0, 0);
    state.incarnation = result.text(0, 1);
    state.epoch = Epoch{result.integer(0, 2)};
    state.next_offset = Offset{result.integer(0, 3)};
    state.leader_epoch = LeaderEpoch{static_cast<std::int32_t>(result.integer(0, 4))};
    state.cluster_id = result.text(0, 5);
    state.topic_id = result.text(0, 6);
    state.retired = result.boolean(0, 7);
    state.suspected = result.boolean(0, 8);
    return state;
}

// The offset at which the transaction must begin. DANGER: it is where the reading began, never what
// a worker remembers of the row.
Offset start_of(const Span& span, const std::string& owner) {
    return mutant("start_from_memory") ? remembered_fence(owner, span.begin) : span.begin;
}

// What both statements on the fences of a batch compare, as columns.
struct Columns {
    std::vector<std::int32_t> partitions;
    std::vector<std::int64_t> begins;
    std::vector<Digest> owners;

    void add(const Span& span, const std::string& owner) {
        partitions.push_back(span.partition.raw());
        begins.push_back(start_of(span, owner).raw());
        owners.push_back(parse_uuid(owner).value_or(Digest{}));
    }
};

}  // namespace

bool same_log(const FenceState& fence, const LogIdentity& identity) {
    const auto agree = [](const std::string& mine, const std::string& theirs) {
        return mine.empty() || theirs.empty() || mine == theirs;
    };
    return agree(fence.cluster_id, identity.cluster_id) && agree(fence.topic_id, identity.topic_id);
}

Fences::Fences(std::string consumer_group, std::string owner_name)
    : consumer_group_(std::move(consumer_group)), owner_name_(std::move(owner_name)) {}

std::optional<FenceState> Fences::look(Connection& connection, const std::string& topic,
                                       Partition partition) {
    const QueryResult result =
        connection.prepared(sql::fence_look, {consumer_group_, topic, partition});
    if (result.rows() == 0) return std::nullopt;
    return read_state(result, partition);
}

bool Fences::topic_has_fences(Connection& connection, const std::string& topic) {
    return connection.prepared(sql::fence_topic_known, {consumer_group_, topic}).boolean(0, 0);
}

void Fences::create(Connection& connection, const std::string& topic,
                    std::vector<std::pair<Partition, FirstPosition>> positions, int ledger) {
    std::ranges::sort(positions, {}, [](const auto& position) { return position.first; });
    OwnedTransaction transaction(connection);
    for (const auto& [partition, first] : positions) {
        // The second id is the owner: random, so that no worker owns the new row.
        transaction.prepared(sql::fence_create,
                             {consumer_group_, topic, partition, new_uuid(), new_uuid(),
                              first.offset, first.leader_epoch, ledger});
    }
    transaction.commit();
}

FenceState Fences::take_over(Connection& connection, const std::string& topic, Partition partition,
                             const LogIdentity& identity, int ledger,
                             const std::function<bool()>& still_assigned) {
    drop(topic, partition);
    // A fresh random id at each take-over. Never the epoch: after a fail-over two may hold the same
    // one.
    const std::string owner = new_uuid();
    OwnedTransaction transaction(connection);
    // Waits here for the row's lock, and with it for the fate of whatever transaction held the
    // fence before: a COMMIT in doubt is decided when this statement returns.
    const QueryResult result = transaction.prepared(
        sql::fence_take, {consumer_group_, topic, partition, owner, owner_name_,
                          identity.cluster_id, identity.topic_id, ledger});
    if (result.rows() == 0) throw std::logic_error("a fence was taken that does not exist");
    FenceState state = read_state(result, partition);
    if (state.retired || !same_log(state, identity) || !still_assigned()) {
        state.owner.clear();
        return state;
    }
    transaction.commit();
    owners_[{topic, partition}] = owner;
    remember_fence(owner, state.next_offset);
    return state;
}

void Fences::skip(Connection& connection, const std::string& topic, Partition partition,
                  Offset begin, Offset end, const std::string& reason) {
    OwnedTransaction transaction(connection);
    const QueryResult moved = transaction.query(
        sql::fence_skip,
        {consumer_group_, topic, partition, owner(topic, partition), begin, end, reason});
    if (moved.affected() != 1) try_again("the fence was moved by somebody else");
    transaction.commit();
}

void Fences::drop(const std::string& topic, Partition partition) {
    owners_.erase({topic, partition});
}

bool Fences::owns(const std::string& topic, Partition partition) const {
    return owners_.contains({topic, partition});
}

const std::string& Fences::owner(const std::string& topic, Partition partition) const {
    const auto found = owners_.find({topic, partition});
    return found == owners_.end() ? nobody : found->second;
}

std::vector<Partition> Fences::hold(Transaction& transaction, const std::string& topic,
                                    std::span<const Span> spans,
                                    const std::function<void()>& meanwhile) {
    Columns columns;
    for (const Span& span : spans) columns.add(span, owner(topic, span.partition));
    const Parameters parameters{consumer_group_, topic, columns.partitions, columns.begins,
                                columns.owners};
    const auto guard = without_guards(sql::fence_hold);
    const std::vector<QueryResult> answers =
        transaction.pipelined({{guard, parameters, {}}}, meanwhile);
    const QueryResult& held = answers.front();
    std::set<Partition> mine;
    for (int row = 0; row < held.rows(); ++row) {
        mine.insert(Partition{static_cast<std::int32_t>(held.binary_integer(row, 0))});
    }
    std::vector<Partition> missed;
    for (const Span& span : spans) {
        if (!mine.contains(span.partition)) missed.push_back(span.partition);
    }
    return missed;
}

Parameters Fences::move_parameters(const std::string& topic,
                                   std::span<const FenceMove> moves) const {
    Columns columns;
    std::vector<std::int64_t> ends, applied, duplicates, conflicts, dead_lettered, skipped;
    std::vector<std::int32_t> leader_epochs;
    for (const auto& [span, totals] : moves) {
        columns.add(span, owner(topic, span.partition));
        ends.push_back(span.end.raw());
        leader_epochs.push_back(span.leader_epoch.raw());
        applied.push_back(totals.applied);
        duplicates.push_back(totals.duplicates);
        conflicts.push_back(totals.conflicts);
        dead_lettered.push_back(totals.dead_lettered);
        skipped.push_back(totals.skipped);
    }
    return {consumer_group_, topic,   columns.partitions, columns.begins, columns.owners, ends,
            leader_epochs,   applied, duplicates,         conflicts,      dead_lettered,  skipped};
}

std::size_t Fences::advance(Transaction& transaction, const std::string& topic,
                            std::span<const FenceMove> moves,
                            std::vector<Connection::Statement> first) {
    const Parameters parameters = move_parameters(topic, moves);
    const auto guard = without_guards(sql::fence_advance);
    first.push_back({guard, parameters, {}});
    const QueryResult moved = std::move(transaction.pipelined(std::move(first)).back());
    if constexpr (mutants_built) {
        for (const FenceMove& move : moves) {
            remember_fence(owner(topic, move.span.partition), move.span.end);
        }
    }
    return static_cast<std::size_t>(moved.affected());
}

Connection::Planned Fences::at_once(const std::string& topic,
                                    std::span<const FenceMove> moves) const {
    static const std::string advance = replaced(std::string(sql::fence_advance_all), "{advance}",
                                                std::string(without_guards(sql::fence_advance)));
    Connection::Planned planned{advance, move_parameters(topic, moves), {}};
    planned.parameters.integer(static_cast<std::int64_t>(moves.size()));
    return planned;
}

}  // namespace onceward
