#include "lab/bench/distant_standby.h"

#include <exception>

#include "dedup/postgres/connection.h"
#include "lab/bench/consumption.h"
#include "lab/queries.h"

namespace onceward::bench {
namespace {

PrivatePostgres::StandbyOptions through(std::uint16_t port) {
    PrivatePostgres::StandbyOptions options;
    options.synchronous = true;
    options.through_port = port;
    return options;
}

}  // namespace

DistantStandby::DistantStandby(PrivatePostgres& primary, std::chrono::microseconds round_trip)
    : primary_(primary),
      link_(primary.port(), round_trip),
      server_(PrivatePostgres::standby_of(primary, through(link_.port()))) {
    ConnectionOptions options;
    options.dsn = Secret(primary.dsn());
    Connection session(options);
    wait_until([&] { return session.query(lab_sql::bench_synchronous, {}).integer(0, 0) == 1; },
               "for a synchronous standby");
}

// Without this the primary's next commit would wait for what is gone.
DistantStandby::~DistantStandby() {
    try {
        primary_.set("synchronous_standby_names", "");
    } catch (const std::exception&) {
        // Its folder is gone, and so is the server.
    }
}

}  // namespace onceward::bench
