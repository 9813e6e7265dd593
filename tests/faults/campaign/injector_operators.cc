// What an operator does during the faults, by the release program's own commands. Each runs in a
// thread of its own; what it changed on purpose is written down for the checker.
#include <algorithm>
#include <fstream>

#include "tests/faults/campaign/injector.h"
#include "tests/faults/campaign/request_log.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"

namespace onceward::campaign {

using namespace std::chrono_literals;
using support::Database;
using support::eventually;

namespace {

constexpr int done = 0;
constexpr int nothing_there = 3;
// Workers look for a pause every second, and a batch in flight ends first.
constexpr int looks_at_rest = 25;
constexpr milliseconds between_looks{100};
constexpr std::uint64_t longest_range = 40;

// Every function of the schema once more, between two changes of the fences' table.
std::string upgrade_of(const std::string& schema) {
    return "BEGIN; SET LOCAL lock_timeout = '20s'; SET LOCAL statement_timeout = '25s'; "
           "ALTER TABLE " +
           schema +
           ".fences ADD COLUMN of_an_upgrade integer; "
           "DO $upgrade$ DECLARE made text; BEGIN "
           "FOR made IN SELECT pg_get_functiondef(oid) FROM pg_proc WHERE prokind = 'f' "
           "AND pronamespace = '" +
           schema +
           "'::regnamespace LOOP EXECUTE made; END LOOP; END $upgrade$; "
           "ALTER TABLE " +
           schema + ".fences DROP COLUMN of_an_upgrade; COMMIT";
}

// The offset where the fence stands, once it has not moved for a while; -1 where it does not rest.
std::int64_t resting_fence(const std::string& dsn, const std::string& sql) {
    std::int64_t last = -1;
    int same = 0;
    const bool rests = eventually(operator_patience, [&] {
        try {
            const std::int64_t now = Database(dsn).number(sql);
            same = now == last ? same + 1 : 0;
            last = now;
        } catch (const std::exception&) {
            same = 0;
        }
        eventually(between_looks, [] { return false; });
        return same >= looks_at_rest;
    });
    return rests ? last : -1;
}

using Words = std::vector<std::string>;

bool pause_for(const Operator& by, const std::string& topic,
               const std::function<bool()>& meanwhile) {
    if (!by.until({"pause", topic, "--reason", "campaign"}, {done})) return false;
    bool did = false;
    try {
        did = meanwhile();
    } catch (const std::exception&) {
        // The topic continues all the same.
    }
    return by.until({"resume", topic}, {done, nothing_there}) && did;
}

Words at(const std::string& topic, int partition, Words words, const Words& more) {
    words.insert(words.end(), {"--topic", topic, "--partition", std::to_string(partition)});
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// What `offsets --set` is told, in one place.
Words moved_to(const std::string& topic, int partition, std::int64_t offset) {
    return at(topic, partition, {"offsets"},
              {"--set", std::to_string(offset), "--reason", "a trial", "--may-repeat", "--yes"});
}

std::string fence_of(const Names& names, const std::string& topic, int partition) {
    return "SELECT coalesce(max(next_offset), -1) FROM " + names.schema +
           ".fences WHERE topic = '" + topic + "' AND partition = " + std::to_string(partition);
}

void wait_for(milliseconds time) {
    eventually(time, [] { return false; });
}

}  // namespace

void Injector::command(const FaultPlan& fault) {
    const std::size_t topic = fault.target % parts_.names.topics.size();
    const int partition = static_cast<int>(fault.target / 7) % parts_.feeder.partitions(topic);
    parts_.tally.write(std::string(name_of(fault.kind)) + " begins, of " +
                       parts_.names.topics[topic] + "/" + std::to_string(partition));
    by_a_stranger(fault, work_of(fault, topic, partition));
}

void Injector::by_a_stranger(const FaultPlan& fault, std::function<bool()> work) {
    auto took = std::make_shared<std::atomic<bool>>(false);
    by_strangers_.emplace_back(fault, took);
    strangers_.emplace_back([work = std::move(work), took] {
        try {
            *took = work();
        } catch (const std::exception&) {
            // The server is down, for instance: no effect.
        }
    });
}

std::function<bool()> Injector::work_of(const FaultPlan& fault, std::size_t topic, int partition) {
    const std::string name = parts_.names.topics[topic];
    switch (fault.kind) {
        case FaultKind::operator_skip:
        case FaultKind::operator_forward: return pass_range(fault, topic, partition);
        case FaultKind::operator_import: return import_keys(fault, topic);
        case FaultKind::operator_forget: return forget_key(fault, topic);
        case FaultKind::operator_replay:
        case FaultKind::operator_redrive: return kill_under_way(fault, name);
        case FaultKind::operator_convert:
            return [by = operator_, fault, ledger = ledger_of(parts_.plan, parts_.names, topic)] {
                const Words words{"ledger", "convert", ledger, "--to", "log", "--yes"};
                by.run(words, fault.lasts);
                return by.until(words, {done});
            };
        case FaultKind::operator_back:
            return [by = operator_, fault, name, partition, dsn = dsn(),
                    sql = fence_of(parts_.names, name, partition)] {
                const std::int64_t fence = Database(dsn).number(sql);
                if (fence <= 0) return false;
                const std::int64_t to = fence * (fault.amount - 1) / 3;
                return by.run(moved_to(name, partition, to)) == done;
            };
        case FaultKind::operator_retire:
            return [by = operator_, fault, name, group = parts_.names.group] {
                Words words{"groups", "retire", group, "--topic", name, "--yes"};
                if (by.run(words) != done) return false;
                wait_for(fault.lasts);
                words.push_back("--undo");
                return by.until(words, {done, nothing_there});
            };
        default:
            return [by = operator_, fault, name] {
                return pause_for(by, name, [&] {
                    wait_for(fault.lasts);
                    return true;
                });
            };
    }
}

// While the topic is paused, so that the fence stands where the operator has seen it.
std::function<bool()> Injector::pass_range(const FaultPlan& fault, std::size_t topic,
                                           int partition) {
    const std::string name = parts_.names.topics[topic];
    return [by = operator_, fault, name, topic, partition, &feeder = parts_.feeder, dsn = dsn(),
            sql = fence_of(parts_.names, name, partition)] {
        return pause_for(by, name, [&] {
            const std::int64_t fence = resting_fence(dsn, sql);
            const auto last = feeder.last_offsets();
            const auto end = last.find({topic, partition});
            if (fence < 0 || end == last.end()) return false;
            const std::int64_t to =
                std::min<std::int64_t>(fence + 1 + fault.target % longest_range, end->second + 1);
            if (to <= fence) return false;
            const Words words =
                fault.kind == FaultKind::operator_skip
                    ? at(name, partition, {"offsets", "skip"},
                         {"--offset", std::to_string(fence), "--to", std::to_string(to),
                          "--reason", "campaign", "--yes"})
                    : moved_to(name, partition, to);
            return by.run(words) == done;
        });
    };
}

std::function<bool()> Injector::kill_under_way(const FaultPlan& fault, const std::string& topic) {
    const bool replays = fault.kind == FaultKind::operator_replay;
    Words words = replays ? Words{"replay", "--topic", topic, "--from", "earliest", "--to",
                                  "latest", "--reason", "campaign", "--yes"}
                          : Words{"dlq", "redrive", "--topic", topic, "--max-tries", "50", "--yes"};
    again_.push_back({fault, words, std::make_shared<std::atomic<bool>>(false)});
    // So slow that it is not through by then.
    if (!replays) words.insert(words.end(), {"--rate", "8"});
    return [by = operator_, words, fault, killed = again_.back().killed] {
        *killed = by.run(words, fault.lasts) == -1;
        return false;  // counted when it was said again
    };
}

// Imports keys that the producer sends later, if it gets that far.
std::function<bool()> Injector::import_keys(const FaultPlan& fault, std::size_t topic) {
    return [by = operator_, fault, name = parts_.names.topics[topic], &names = parts_.names,
            dsn = dsn()] {
        std::int64_t newest = 0;
        for (std::size_t i = 0; i < names.topics.size(); ++i) {
            const std::string sql = "SELECT coalesce(max(substr(key, 5)::bigint), 0) FROM " +
                                    names.table(i) + " WHERE key LIKE 'key-%'";
            newest = std::max(newest, Database(dsn).number(sql));
        }
        const std::filesystem::path list =
            names.folder / ("import-" + std::to_string(fault.at.count()) + ".txt");
        std::vector<std::string> keys;
        for (std::int64_t i = 0; i < 12; ++i)
            keys.push_back("key-" + std::to_string(newest + 300 + 40 * i));
        std::ofstream file(list);
        for (const std::string& key : keys) file << key << "\n";
        file.close();
        const std::int64_t from = microseconds_now();
        const bool imported =
            by.until({"import", "--topic", name, "--file", list.string(), "--yes"}, {done});
        // Tried at all: some of them may be claimed.
        for (const std::string& key : keys)
            by.note(imported ? "import" : "import_tried", name, key, from);
        return imported;
    };
}

std::function<bool()> Injector::forget_key(const FaultPlan& fault, std::size_t topic) {
    return [by = operator_, fault, name = parts_.names.topics[topic],
            table = parts_.names.table(topic), dsn = dsn()] {
        const std::string key = Database(dsn).value(
            "SELECT coalesce((SELECT key FROM " + table +
            " WHERE key LIKE 'key-%' ORDER BY landed DESC LIMIT 1 OFFSET " +
            std::to_string(fault.target % 60) + "), '')");
        if (key.empty()) return false;
        const std::int64_t from = microseconds_now();
        const int end = by.run({"forget", key, "--topic", name, "--reason", "campaign", "--yes"});
        // Where the answer was lost it may have been taken out.
        if (end != nothing_there) by.note("forget", name, key, from);
        return end == done;
    };
}

void Injector::say_again() {
    for (const Again& one : again_) {
        const bool ended = operator_.until(one.words, {done, nothing_there});
        if (!ended) {
            parts_.tally.violation("the operator's command did not end when it was said again: " +
                                   std::string(name_of(one.fault.kind)));
        } else {
            count(one.fault, *one.killed, "it was not killed under way");
        }
    }
    again_.clear();
}

// What an upgrade does while workers run, in one transaction: it changes the hottest table, and
// replaces every function. Then the program's own `migrate up` grants again, and sees nothing new.
void Injector::migrate_again(const FaultPlan& fault) {
    parts_.tally.write("migrate_again begins");
    by_a_stranger(fault, [by = operator_, text = upgrade_of(parts_.names.schema), dsn = dsn()] {
        const bool upgraded = eventually(operator_patience, [&] {
            try {
                Database(dsn).execute(text);
            } catch (const std::exception&) {
                return false;
            }
            return true;
        });
        return upgraded &&
               by.until({"migrate", "up", "--grant-to", support::worker_role}, {done}) &&
               by.until({"migrate", "status"}, {done});
    });
}

}  // namespace onceward::campaign
