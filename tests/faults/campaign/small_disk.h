#pragma once
// A small file system in memory with a tablespace on it, so that a full disk is a real one: the
// server gets ENOSPC from the kernel and answers with 53100. Needs the right to mount; without it
// the constructor throws std::runtime_error. Used by one thread. The destructor takes the
// tablespace away, which must be empty by then, and unmounts.

#include <filesystem>
#include <string>

#include "lab/embedded/private_postgres.h"

namespace onceward::campaign {

class SmallDisk {
  public:
    SmallDisk(PrivatePostgres& server, std::string dsn);
    ~SmallDisk();
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    // Moves all tables and indexes of that schema here; new ones of the database come here too.
    void take_schema(const std::string& schema);
    // Leaves no room at all, and gives it back.
    void fill();
    void clear();

  private:
    std::filesystem::path filler() const { return folder_ / "filler"; }
    void unmount() noexcept;

    std::string dsn_;
    std::string name_;
    std::filesystem::path folder_;
};

}  // namespace onceward::campaign
