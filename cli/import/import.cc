#include "cli/import/import.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "dedup/policy/failure.h"
#include "dedup/unfenced_transaction.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr int most_tries = 100;
constexpr auto pause = 100ms;

class Import {
  public:
    Import(Connection& connection, ClaimStore& claims, KeyList& list, const ImportOptions& options)
        : connection_(connection), claims_(claims), list_(list), options_(options) {}

    ImportReport run() {
        begin();
        while (!options_.stopped || !options_.stopped()) {
            const KeyPage page = list_.read(position_, options_.page);
            take(page);
            done_ += static_cast<std::int64_t>(page.keys.size());
            if (options_.progress) options_.progress(done_, page.share);
            if (!page.end) continue;
            finish();
            break;
        }
        return report_;
    }

  private:
    void begin() {
        const std::string description = list_.description + ", " + options_.meaning;
        const QueryResult row = connection_.query(
            sql::import_begin, Parameters{options_.ledger, digest_of_bytes(description),
                                              description, options_.restart});
        import_ = row.integer(0, 0);
        position_ = std::string(row.text(0, 1));
        report_.claimed = row.integer(0, 2);
        report_.known = row.integer(0, 3);
        report_.refused = row.integer(0, 4);
        report_.resumed = !position_.empty();
    }

    void finish() {
        if (connection_.query(sql::import_finish, Parameters{import_, position_}).affected() !=
            1) {
            another_runs();
        }
        report_.finished = true;
    }

    [[noreturn]] static void another_runs() {
        throw std::runtime_error("another import of the same keys is running");
    }

    // One transaction, tried as often as the ledger asks for it.
    void take(const KeyPage& page) {
        std::vector<Claim> claims;
        std::int64_t refused = 0;
        std::int64_t place = report_.claimed + report_.known + report_.refused;
        for (const std::string& key : page.keys) {
            const ImportedKey imported = options_.key(key);
            ++place;
            if (imported.digest) {
                claims.push_back({*imported.digest, {}, Partition{0}, Offset{place}});
                continue;
            }
            ++refused;
            if (!report_.first_fault.empty()) continue;
            report_.first_refused = key;
            report_.first_fault = imported.fault;
        }
        std::ranges::stable_sort(claims, {}, &Claim::digest);
        const auto twice = std::ranges::unique(claims, {}, &Claim::digest);
        const auto repeats = static_cast<std::int64_t>(twice.size());
        claims.erase(twice.begin(), twice.end());
        FailureSeries failures({.first = pause, .longest = pause});
        for (int tries = 0;; ++tries) {
            try {
                if (attempt(page, claims, repeats, refused)) return;
            } catch (const PostgresError& error) {
                const FailureAction action = failures.met(error, Origin::ours);
                if (action != FailureAction::retry || tries >= most_tries) throw;
                std::this_thread::sleep_for(failures.pause());
            }
            if (tries >= most_tries) {
                throw std::runtime_error(
                    "other sessions claim the same keys all the time; try "
                    "again");
            }
        }
    }

    bool attempt(const KeyPage& page, const std::vector<Claim>& claims, std::int64_t repeats,
                 std::int64_t refused) {
        Origin origin = Origin::ours;
        UnfencedTransaction unfenced(connection_, {.claims = claims_, .origin = origin});
        const auto answers = unfenced.claim(claims);
        if (!answers) return false;
        const std::int64_t fresh =
            std::ranges::count(*answers, Verdict::fresh, &ClaimAnswer::verdict);
        const std::int64_t known = static_cast<std::int64_t>(claims.size()) - fresh + repeats;
        // DANGER: move the position together with the claims, and only from where this page began.
        // Otherwise an import that runs twice, or whose COMMIT was in doubt, would skip a page that
        // nobody claimed.
        unfenced.apply([&](Transaction& transaction) {
            const QueryResult moved = transaction.query(
                sql::import_move,
                Parameters{import_, position_, page.position, fresh, known, refused});
            if (moved.affected() != 1) another_runs();
            return std::vector<ResultStore::Stored>{};
        });
        if (unfenced.land() == Settlement::again) return false;
        position_ = page.position;
        report_.claimed += fresh;
        report_.known += known;
        report_.refused += refused;
        return true;
    }

    Connection& connection_;
    ClaimStore& claims_;
    KeyList& list_;
    const ImportOptions& options_;
    std::int64_t import_ = 0;
    std::string position_;
    std::int64_t done_ = 0;  // keys of this run
    ImportReport report_;
};

}  // namespace

ImportReport import_keys(Connection& connection, ClaimStore& claims, KeyList& list,
                         const ImportOptions& options) {
    return Import(connection, claims, list, options).run();
}

}  // namespace onceward
