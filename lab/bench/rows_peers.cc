// Rows with another program on the other side, on the same broker and server: 4, 4b, 4c, 5.

#include <algorithm>

#include "lab/bench/bench.h"
#include "lab/bench/format.h"
#include "lab/bench/peer.h"

namespace onceward::bench {
namespace {

// A virtual machine needs a while until what runs hot is compiled; both sides are measured from
// there on.
constexpr double not_measured = 0.2;

// Ours against the other program, and a line for each.
void add_pair(RowResult& result, const Target* target, const std::vector<Side>& sides,
              const std::vector<std::vector<Measurement>>& runs, const std::string& share = "") {
    result.outcomes.push_back({target, ratio(rates(runs[0]), rates(runs[1]))});
    for (std::size_t i = 0; i < 2; ++i) {
        result.lines.push_back(line(sides[i].name + share, runs[i]));
    }
}

}  // namespace

std::unique_ptr<Topic> Bench::filled(std::int64_t messages, bool duplicates, Form form) const {
    auto topic = make_topic(messages, duplicates, form);
    setup_.progress("filling a topic with " + grouped(messages) + " messages");
    topic->fill();
    return topic;
}

Side Bench::beside_peers(const Topic& topic) {
    Plan log = plan(Claims::log);
    log.not_measured = not_measured;
    return consumed(topic, log);
}

Side Bench::peer(const Topic& topic, const char* name, const char* program, const char* table) {
    const Workload& workload = topic.workload();
    return {name, [this, &workload, program, table] {
                Tables tables(setup_.postgres);
                const Measurement run = consume_by_peer(
                    setup_.place, workload, {setup_.peers / program, table, not_measured}, tables);
                tables.expect_rows(table, distinct_keys(workload), key_column_of(workload));
                return run;
            }};
}

RowResult Bench::begin_peers(std::string_view row, const std::string& setting) const {
    return begin(row, grouped(extent_.messages) + " messages with a key each in " +
                          std::to_string(extent_.partitions) +
                          " partitions of a topic that is full, read from its beginning; on both "
                          "sides the clock runs from the first fifth of the messages on to the "
                          "last commit; one worker, batches of " +
                          grouped(static_cast<std::int64_t>(extent_.batch.messages)) +
                          " at most; " + setting);
}

RowResult Bench::debezium() {
    const auto topic = filled(extent_.messages, false, Form::connect);
    const std::vector<Side> sides{beside_peers(*topic),
                                  peer(*topic, "Debezium's JDBC sink", "debezium", upserted_table)};
    const auto runs = in_turn(sides);
    RowResult result = begin_peers(
        "4", "JSON of " +
                 grouped(static_cast<std::int64_t>(
                     connect_payload(key_of(topic->workload(), 0), 0).size())) +
                 " bytes or so with its schema, into five columns; Debezium's upsert by one task, "
                 "up to 5,000 rows a statement, into a table with the key as its primary key, "
                 "which it needs; `log` into one without an index");
    add_pair(result, targets_of("4").front(), sides, runs);
    return result;
}

RowResult Bench::spring() {
    RowResult result =
        begin_peers("4b",
                    "JSON of 374 bytes without a schema, into five columns without an index; the "
                    "listener has four threads, and claims and rows of a batch in one transaction");
    for (const Target* target : targets_of("4b")) {
        const bool duplicates = target != targets_of("4b").front();
        const std::string share = duplicates ? ", 10 % duplicates" : "";
        const auto topic = filled(extent_.messages, duplicates, Form::plain);
        const std::vector<Side> sides{
            beside_peers(*topic),
            peer(*topic, "spring-kafka, a batch listener", "spring", plain_table)};
        add_pair(result, target, sides, in_turn(sides), share);
    }
    // Far slower, hence fewer messages.
    const auto topic =
        filled(std::min(extent_.single_messages, extent_.messages), false, Form::plain);
    const Side single =
        peer(*topic, "spring-kafka, a transaction a message", "single", plain_table);
    const auto runs = in_turn({single});
    result.lines.push_back(line(single.name, runs.front()));
    result.notes.push_back(
        "a transaction for each of " + grouped(topic->workload().messages) +
        " messages by hand, four threads: `log` is " +
        three_digits(result.lines.front().rate.median / result.lines.back().rate.median) +
        " times as fast (medians)");
    return result;
}

RowResult Bench::spring_inbox() {
    const auto topic = filled(extent_.messages, true, Form::plain);
    const std::vector<Side> sides{
        peer(*topic, "spring-kafka, claims by the inbox", "inbox", plain_table),
        peer(*topic, "spring-kafka, a batch listener", "spring", plain_table)};
    const auto runs = in_turn(sides);
    RowResult result = begin_peers(
        "4c",
        "JSON of 374 bytes without a schema, 10 % duplicates, into five columns without an index; "
        "both listeners have four threads, and claims and rows of a batch in one transaction");
    add_pair(result, targets_of("4c").front(), sides, runs, ", 10 % duplicates");
    return result;
}

RowResult Bench::kcat() {
    const auto topic = filled(extent_.messages, false, Form::keyed);
    const std::vector<Side> sides{
        beside_peers(*topic),
        peer(*topic, "kcat piped into psql's \\copy", "kcat-psql", raw_table)};
    const auto runs = in_turn(sides);
    RowResult result = begin_peers(
        "5",
        "JSON of 374 bytes under its record key, into a text, an integer, a bigint and a "
        "jsonb column without an index; kcat's text goes into one COPY without any "
        "guarantee, whose rows count from when the server takes them");
    add_pair(result, targets_of("5").front(), sides, runs);
    return result;
}

}  // namespace onceward::bench
