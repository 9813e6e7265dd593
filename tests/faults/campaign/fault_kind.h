#pragma once
// The faults that the campaign knows, by name and by what they are done to.

#include <array>
#include <cstdint>
#include <string_view>

namespace onceward::campaign {

enum class FaultKind : std::uint8_t {
    kill_outside,      // SIGKILL on the release program, whatever it is at
    kill_at_step,      // SIGKILL at a step of its work, by the program with fault points
    freeze,            // SIGSTOP, longer than the time-outs or shorter, then SIGCONT
    freeze_at_step,    // the same at a step
    terminate,         // SIGTERM, and another in its place
    churn,             // one more joins, and leaves again
    broker_kill,       // SIGKILL, and started again
    broker_freeze,     // SIGSTOP and SIGCONT
    kafka_cut,         // all connections of workers with the broker
    kafka_byte_cut,    // each new one at its n-th byte
    kafka_black_hole,  // nothing passes, nothing is reset
    kafka_latency,
    kafka_bandwidth,
    foreign_commit,  // somebody moves the group's committed offset
    add_partitions,
    trim,           // the log's start moves up to what the fence has passed
    postgres_stop,  // immediate, and started again
    postgres_kill,  // SIGKILL to all its processes, and started again
    commit_cut_before,
    commit_cut_inside_request,
    commit_cut_after,  // it takes effect, and the answer is lost
    commit_cut_inside_answer,
    commit_hole_before,
    commit_hole_after,
    postgres_cut,
    postgres_byte_cut,
    postgres_black_hole,
    postgres_latency,
    postgres_bandwidth,
    table_lock,  // somebody holds the sink's table
    fence_lock,  // somebody holds the fences' rows
    terminate_backend,
    read_only,
    connections_full,
    fail_over,            // to a standby without the last commits
    long_table_lock,      // somebody holds the sink's table for tens of seconds
    create_index,         // on the sink's table, under load
    add_column,           // to it
    alter_column_type,    // int to bigint, which writes the whole table again
    disk_full,            // 53100, and room again
    restore,              // of a copy of the whole server that was taken seconds before
    operator_pause,       // `onceward pause`, and `resume`
    operator_skip,        // `onceward offsets skip`, while the topic is paused
    operator_forward,     // `onceward offsets --set`, over messages that nobody has read
    operator_back,        // the same, to messages that were passed
    operator_retire,      // `onceward groups retire`, and `--undo`
    operator_import,      // of keys that come later
    operator_forget,      // of keys that were applied
    operator_replay,      // `onceward replay`, killed, and said again at the end
    operator_redrive,     // `onceward dlq redrive`, killed, and said again at the end
    operator_convert,     // `onceward ledger convert`, killed, and said again until it is a log
    migrate_again,        // an upgrade: DDL on the fences, all functions replaced, `migrate up`
    trouble_lock,         // of several topics one's table is locked; the others are to continue
    trouble_rights,       // the same, by a right that is taken away for a while
    trouble_retry,        // the same, by a trigger that says 55P03 of each row
    commit_error,         // the answer to an OffsetCommit comes with an error code
    group_error,          // so does that of a heartbeat, or of joining the group
    worker_clock_step,    // of a day or less, either way
    postgres_clock_step,  // the same, of the server
    leader_move,          // of three brokers one leaves, and comes back
    added_beside_reach,   // partitions, to a topic whose ledger reaches one partition
    recreate_topic,       // deleted, created again and adopted, after the verdict
};

struct FaultName {
    FaultKind kind;
    std::string_view name;
    int weight;  // how often it is drawn, against the others; 0: placed by rules of its own
};

inline constexpr std::array<FaultName, 62> fault_names{{
    {FaultKind::kill_outside, "kill_outside", 30},
    {FaultKind::kill_at_step, "kill_at_step", 10},
    {FaultKind::freeze, "freeze", 9},
    {FaultKind::freeze_at_step, "freeze_at_step", 4},
    {FaultKind::terminate, "terminate", 8},
    {FaultKind::churn, "churn", 7},
    {FaultKind::broker_kill, "broker_kill", 0},
    {FaultKind::broker_freeze, "broker_freeze", 2},
    {FaultKind::kafka_cut, "kafka_cut", 6},
    {FaultKind::kafka_byte_cut, "kafka_byte_cut", 5},
    {FaultKind::kafka_black_hole, "kafka_black_hole", 3},
    {FaultKind::kafka_latency, "kafka_latency", 3},
    {FaultKind::kafka_bandwidth, "kafka_bandwidth", 2},
    {FaultKind::foreign_commit, "foreign_commit", 3},
    {FaultKind::add_partitions, "add_partitions", 0},
    {FaultKind::trim, "trim", 3},
    {FaultKind::postgres_stop, "postgres_stop", 0},
    {FaultKind::postgres_kill, "postgres_kill", 0},
    {FaultKind::commit_cut_before, "commit_cut_before", 8},
    {FaultKind::commit_cut_inside_request, "commit_cut_inside_request", 5},
    {FaultKind::commit_cut_after, "commit_cut_after", 14},
    {FaultKind::commit_cut_inside_answer, "commit_cut_inside_answer", 6},
    {FaultKind::commit_hole_before, "commit_hole_before", 3},
    {FaultKind::commit_hole_after, "commit_hole_after", 4},
    {FaultKind::postgres_cut, "postgres_cut", 7},
    {FaultKind::postgres_byte_cut, "postgres_byte_cut", 8},
    {FaultKind::postgres_black_hole, "postgres_black_hole", 3},
    {FaultKind::postgres_latency, "postgres_latency", 3},
    {FaultKind::postgres_bandwidth, "postgres_bandwidth", 2},
    {FaultKind::table_lock, "table_lock", 5},
    {FaultKind::fence_lock, "fence_lock", 4},
    {FaultKind::terminate_backend, "terminate_backend", 9},
    {FaultKind::read_only, "read_only", 2},
    {FaultKind::connections_full, "connections_full", 2},
    {FaultKind::fail_over, "fail_over", 0},
    {FaultKind::long_table_lock, "long_table_lock", 0},
    {FaultKind::create_index, "create_index", 0},
    {FaultKind::add_column, "add_column", 0},
    {FaultKind::alter_column_type, "alter_column_type", 0},
    {FaultKind::disk_full, "disk_full", 0},
    {FaultKind::restore, "restore", 0},
    {FaultKind::operator_pause, "operator_pause", 0},
    {FaultKind::operator_skip, "operator_skip", 0},
    {FaultKind::operator_forward, "operator_forward", 0},
    {FaultKind::operator_back, "operator_back", 0},
    {FaultKind::operator_retire, "operator_retire", 0},
    {FaultKind::operator_import, "operator_import", 0},
    {FaultKind::operator_forget, "operator_forget", 0},
    {FaultKind::operator_replay, "operator_replay", 0},
    {FaultKind::operator_redrive, "operator_redrive", 0},
    {FaultKind::operator_convert, "operator_convert", 0},
    {FaultKind::migrate_again, "migrate_again", 0},
    {FaultKind::trouble_lock, "trouble_lock", 0},
    {FaultKind::trouble_rights, "trouble_rights", 0},
    {FaultKind::trouble_retry, "trouble_retry", 0},
    {FaultKind::commit_error, "commit_error", 0},
    {FaultKind::group_error, "group_error", 0},
    {FaultKind::worker_clock_step, "worker_clock_step", 0},
    {FaultKind::postgres_clock_step, "postgres_clock_step", 0},
    {FaultKind::leader_move, "leader_move", 0},
    {FaultKind::added_beside_reach, "added_beside_reach", 0},
    {FaultKind::recreate_topic, "recreate_topic", 0},
}};

constexpr std::string_view name_of(FaultKind kind) {
    return fault_names[static_cast<std::size_t>(kind)].name;
}

}  // namespace onceward::campaign
