#include "dedup/base/mutants.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "dedup/base/mutex.h"
#include "dedup/operator/interventions.h"
#include "dedup/postgres/connection.h"
#include "schemas/mutants.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

// '' if there is none.
std::string chosen() {
    const char* name = std::getenv("ONCEWARD_MUTANT");
    if (name == nullptr || *name == '\0') return {};
    if (std::ranges::find(mutant_names, std::string_view(name)) == mutant_names.end()) {
        std::fprintf(stderr, "ONCEWARD_MUTANT names no mutant: %s\n", name);
        std::exit(2);
    }
    return name;
}

// By owner's id, which is new at each take-over.
Mutex memory_mutex;
std::map<std::string, Offset> memory ONCEWARD_GUARDED_BY(memory_mutex);

}  // namespace

bool mutant(Mutant which) {
    static const std::string one = chosen();
    return one == which.name;
}

std::string without_guards(std::string_view statement) {
    std::string text(statement);
    const auto leave_out = [&](std::string_view condition) {
        const std::size_t at = text.find(condition);
        if (at != std::string::npos) text.erase(at, condition.size());
    };
    if (mutant("no_fence_check")) {
        leave_out("AND f.owner = wanted.owner");
        leave_out("AND f.owner = move.owner");
    }
    if (mutant("no_fence_check") || mutant("owner_checked_but_not_the_offset")) {
        leave_out("AND f.next_offset = wanted.begin_offset");
        leave_out("AND f.next_offset = move.begin_offset");
    }
    return text;
}

std::string without_owner(std::string_view statement, Mutant which) {
    if (!mutant(which)) return std::string(statement);
    constexpr std::string_view compared = "known.owner_token = $2::uuid";
    // The statement has to use the parameter, or the server cannot tell its type.
    constexpr std::string_view named = "$2::uuid IS NOT NULL";
    return replaced(std::string(statement), compared, named);
}

void remember_fence(const std::string& owner, Offset next_offset) {
    const MutexLock lock(memory_mutex);
    memory[owner] = next_offset;
}

Offset remembered_fence(const std::string& owner, Offset otherwise) {
    const MutexLock lock(memory_mutex);
    const auto found = memory.find(owner);
    return found == memory.end() ? otherwise : found->second;
}

bool select_says_committed(const Connection& lost, const Digest& key) {
    Connection connection(lost.options());
    const QueryResult generations = connection.query(sql::explain_generations, {});
    const std::vector<Digest> keys{key};
    for (int row = 0; row < generations.rows(); ++row) {
        const std::string table(generations.text(row, 4));
        const QueryResult claims = connection.query(explain_statement(generations.text(row, 5)),
                                                    Parameters{keys}, {{"table", table}});
        if (claims.rows() > 0) return true;
    }
    return false;
}

std::string without_rotation_lock(std::string_view migration) {
    std::string text(migration);
    if (!mutant("sealed_without_the_lock")) return text;
    constexpr std::string_view lock = "PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);";
    const std::size_t rotation = text.find("FUNCTION {schema}.rotate_ledger(");
    const std::size_t at = text.find(lock, rotation);
    if (rotation != std::string::npos && at != std::string::npos) text.erase(at, lock.size());
    return text;
}

void pass_all_watermarks(Connection& connection) { connection.query(sql::pass_all_watermarks, {}); }

}  // namespace onceward
