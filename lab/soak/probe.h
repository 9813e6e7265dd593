#pragma once
// Takes samples of a soak: /proc of worker, PostgreSQL and broker, the server's own figures, and
// the worker's metrics. Used by one thread; failures are AdminErrors and PostgresErrors.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "cli/configuration/units.h"
#include "dedup/postgres/connection.h"
#include "lab/soak/curves.h"

namespace onceward::soak {

struct Watched {
    pid_t worker = 0;
    pid_t postgres = 0;
    ListenAddress admin;              // the worker's
    std::filesystem::path kafka_log;  // the broker's folder
};

// Pure: the sum of all samples of that metric, whatever their labels; with `label`, of those that
// have this text among them.
double metric_sum(const std::string& metrics, std::string_view name, std::string_view label = "");

// Pure: the buckets of a histogram, upper bound -> cumulated count, of all its series together.
using Buckets = std::map<double, double>;
Buckets buckets_of(const std::string& metrics, const std::string& name);
// Pure: the upper bound of the bucket that this share of what came between the two is in; 0 if
// nothing came.
double quantile_between(const Buckets& begin, const Buckets& end, double share);

class Probe {
  public:
    Probe(Connection& connection, Watched watched)
        : connection_(connection), watched_(std::move(watched)) {}
    // What is a rate is taken since the sample before; the first one is of no use.
    Sample take(double seconds);

  private:
    struct Counters {
        double seconds = 0;
        double worker_cpu = 0;
        double postgres_cpu = 0;
        double wal = 0;
        double messages = 0;
        Buckets commits;
    };
    Connection& connection_;
    Watched watched_;
    Counters before_;
};

}  // namespace onceward::soak
