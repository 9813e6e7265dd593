#pragma once
// A synchronous standby of a private server, as far away as a round trip says: the primary's
// commits wait until it has flushed them, from the constructor's return to the destructor. The
// primary must outlive it. Used by one thread; failures are exceptions.

#include <chrono>

#include "lab/embedded/distant_link.h"
#include "lab/embedded/private_postgres.h"

namespace onceward::bench {

class DistantStandby {
  public:
    // Returns when the primary counts it as synchronous.
    DistantStandby(PrivatePostgres& primary, std::chrono::microseconds round_trip);
    ~DistantStandby();
    DistantStandby(const DistantStandby&) = delete;
    DistantStandby& operator=(const DistantStandby&) = delete;

    const PrivatePostgres& server() const { return server_; }

  private:
    PrivatePostgres& primary_;
    DistantLink link_;
    PrivatePostgres server_;
};

}  // namespace onceward::bench
