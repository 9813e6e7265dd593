#pragma once
// Guards that a build with the option ONCEWARD_MUTANTS can turn off, to see that the fault campaign
// or a test notices. The environment variable ONCEWARD_MUTANT names the one when the process
// starts. In every other build mutant() is false at compile time, and none of this is left in the
// program. Pure unless a comment says otherwise; thread-safe.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "dedup/base/types.h"

namespace onceward {

// The values of ONCEWARD_MUTANT. The first `core_mutants` are for the campaign's core tier; tests
// notice the others, see scripts/campaign-mutants.
inline constexpr std::size_t core_mutants = 14;
inline constexpr std::array<std::string_view, 28> mutant_names{
    "no_fence_check",
    "owner_checked_but_not_the_offset",
    "start_from_memory",
    "commit_tag_not_looked_at",
    "offset_before_commit",
    "text_keys_cut_at_nul",
    "unsorted_batch",
    "select_to_resolve_a_lost_commit",
    "purge_by_wall_clock",
    "window_kept_over_a_reconnect",
    "news_read_with_the_lock",
    "sealed_without_the_lock",
    "missing_filter_says_no",
    "merged_without_the_last_segment",
    "window_read_before_the_take_over",
    "ended_by_a_stale_owner",
    "extended_by_a_stale_owner",
    "released_by_a_stale_owner",
    "relay_without_the_leader_lock",
    "row_deleted_before_kafkas_answer",
    "absorbed_end_keeps_the_epoch",
    "a_topic_holds_up_the_others",
    "added_partitions_seen_at_a_take_over_alone",
    "own_sqlstate_stops_the_topic",
    "answers_by_the_order_of_rows",
    "replay_without_its_claims",
    "late_key_is_claimed",
    "switched_without_the_lock",
};

// The name of a mutant, checked at compile time.
struct Mutant {
    std::string_view name;
    consteval Mutant(const char* text) : name(text) {
        if (std::ranges::find(mutant_names, name) == mutant_names.end()) throw "no such mutant";
    }
};

class Connection;
struct Digest;

#ifdef ONCEWARD_MUTANTS
inline constexpr bool mutants_built = true;
bool mutant(Mutant which);

// What the mutants do instead.

// A fence's statement without the comparisons that the mutant leaves out.
std::string without_guards(std::string_view statement);
// A lease's statement that does not compare the row's owner.
std::string without_owner(std::string_view statement, Mutant which);
// What the worker remembers of a fence, by its owner's id.
void remember_fence(const std::string& owner, Offset next_offset);
Offset remembered_fence(const std::string& owner, Offset otherwise);
// Asks on a session of its own whether the ledger knows a key of the batch whose COMMIT had no
// answer.
bool select_says_committed(const Connection& lost, const Digest& key);
void pass_all_watermarks(Connection& connection);
// A migration's text whose rotation takes no lock.
std::string without_rotation_lock(std::string_view migration);
#else
inline constexpr bool mutants_built = false;
constexpr bool mutant(Mutant) { return false; }
constexpr std::string_view without_guards(std::string_view statement) { return statement; }
constexpr std::string_view without_owner(std::string_view statement, Mutant) { return statement; }
inline void remember_fence(const std::string&, Offset) {}
inline Offset remembered_fence(const std::string&, Offset otherwise) { return otherwise; }
inline bool select_says_committed(const Connection&, const Digest&) { return false; }
inline void pass_all_watermarks(Connection&) {}
inline std::string without_rotation_lock(std::string_view migration) {
    return std::string(migration);
}
#endif

}  // namespace onceward
