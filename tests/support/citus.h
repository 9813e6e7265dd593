#pragma once
// Citus for tests: one that the user has, and what is used in its place where there is none. Each
// throws DatabaseError.

#include <memory>
#include <string>

#include "tests/support/postgres.h"

namespace onceward::support {

// Whether ONCEWARD_TEST_CITUS is set, which says that the server of ONCEWARD_TEST_POSTGRES is the
// coordinator of a Citus.
bool on_citus();

// Distributes the table by this column on such a server. Returns whether it did.
bool distributed_on_citus(FreshSchema& schema, const std::string& table, const std::string& column);

// From now on the table refuses, with the SQLSTATE that Citus answers, every write that is not an
// INSERT ... VALUES or a DELETE of keys with parameters. REQUIRES: no Citus, which has no such
// triggers.
void refuse_all_but_values(FreshSchema& schema, const std::string& table);

// A database of its own with the catalog of Citus and nothing else of it, dropped by the
// destructor. Declare it before what uses it.
class PretendedCitus {
  public:
    PretendedCitus();
    ~PretendedCitus();
    PretendedCitus(const PretendedCitus&) = delete;
    PretendedCitus& operator=(const PretendedCitus&) = delete;
    const PostgresAddress& server() const { return server_; }
    // The catalog says so of this table; partmethod, repmodel and colocationid as Citus 13.2
    // writes them. `column`: '' is none.
    void manage(const std::string& table, const std::string& column = "",
                const std::string& method = "h", const std::string& model = "s",
                int colocation = 1);

  private:
    std::string name_;
    PostgresAddress server_;
};

}  // namespace onceward::support
