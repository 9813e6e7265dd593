#include "lab/soak/curves.h"

#include <array>
#include <sstream>
#include <stdexcept>

namespace onceward::soak {
namespace {

// What the worker's configuration implies in MB: `memory.claims`, librdkafka's queue of each of
// four partitions, two batches between the threads and one in the transaction with its encoded
// rows, and what an idle worker takes.
constexpr double worker_bound = 268 + 4 * 16.8 + 4 * 8.4 + 60;
// 512 MB of shared buffers, and what the sessions have.
constexpr double postgres_bound = 1'500;
// `max_wal_size` may be exceeded under load, by PostgreSQL's own words.
constexpr double wal_bound = 3'000;
// Each partition has `retention.bytes` and the segments that are being written and deleted.
constexpr double kafka_bound = 4 * (2'000 + 3 * 68) + 100;

constexpr std::array all{
    Curve{"worker_mb", "worker: resident memory, MB", 0.1, 5, worker_bound},
    Curve{"worker_files", "worker: file descriptors", 0, 2, 100},
    Curve{"worker_threads", "worker: threads", 0, 1, 50},
    Curve{"worker_cpu", "worker: CPU, % of a core", 0.5, 5},
    Curve{"claims_mb", "worker: memory of the claims, MB", 0.1, 5, 268},
    Curve{"postgres_mb", "PostgreSQL: memory, shared counted once, MB", 0.1, 20, postgres_bound},
    Curve{"postgres_files", "PostgreSQL: file descriptors", 0.1, 50, 5'000},
    Curve{"postgres_cpu", "PostgreSQL: CPU, % of a core", 0.5, 5},
    Curve{"database_mb", "PostgreSQL: database, MB", 0.1, 20, 4'000},
    Curve{"wal_mb", "PostgreSQL: WAL's directory, MB", 0.1, 50, wal_bound},
    Curve{"wal_mb_s", "PostgreSQL: WAL written, MB/s", 0.1, 1},
    Curve{"ledger_mb", "ledger: tables with indexes, MB", 0.1, 20, 2'000},
    Curve{"ledger_tables", "ledger: tables", 0.1, 4, 200},
    Curve{"dead_rows", "PostgreSQL: dead rows of all tables", 0.1, 5'000, 200'000},
    Curve{"sink_mb", "sink: table, emptied all the time, MB", 0.1, 20},
    Curve{"kafka_mb", "Kafka: directory of its log, MB", 0.1, 50, kafka_bound},
    Curve{"messages_s", "messages/s that were committed", 0.1, 1'000},
    Curve{"lag", "lag, messages", 0.1, 50'000},
    Curve{"commit_p50_ms", "transaction, p50 in ms", 0.1, 20},
    Curve{"commit_p99_ms", "transaction, p99 in ms", 0.1, 250},
};

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    return cells;
}

std::string head() {
    std::string text = "seconds";
    for (const Curve& curve : all) text += "," + std::string(curve.name);
    return text;
}

}  // namespace

std::span<const Curve> curves() { return all; }

std::string as_csv(const Series& series) {
    std::ostringstream text;
    for (const auto& [name, value] : series.facts) text << "# " << name << ": " << value << '\n';
    text << head() << '\n';
    text.precision(10);
    for (const Sample& sample : series.samples) {
        text << sample.seconds;
        for (const double value : sample.values) text << ',' << value;
        text << '\n';
    }
    return text.str();
}

Series from_csv(const std::string& text) {
    Series series;
    bool begun = false;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# ")) {
            const std::size_t colon = line.find(": ");
            if (colon == std::string::npos) throw std::runtime_error("no fact: " + line);
            series.facts.emplace_back(line.substr(2, colon - 2), line.substr(colon + 2));
            continue;
        }
        if (!begun) {
            if (line != head()) throw std::runtime_error("other curves than a soak's: " + line);
            begun = true;
            continue;
        }
        const std::vector<std::string> cells = cells_of(line);
        if (cells.size() != all.size() + 1) throw std::runtime_error("a cell too few: " + line);
        Sample sample{std::stod(cells.front()), {}};
        for (std::size_t i = 1; i < cells.size(); ++i) sample.values.push_back(std::stod(cells[i]));
        series.samples.push_back(std::move(sample));
    }
    return series;
}

}  // namespace onceward::soak
