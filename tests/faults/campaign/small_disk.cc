#include "tests/faults/campaign/small_disk.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "tests/support/database.h"
#include "tests/support/unique.h"

namespace onceward::campaign {
namespace {

// A seed's tables come to about 20 MB.
constexpr const char* mount_options = "size=96m,mode=0700";
constexpr std::size_t filled_at_once = 4096;

}  // namespace

SmallDisk::SmallDisk(PrivatePostgres& server, std::string dsn)
    : dsn_(std::move(dsn)), name_(support::unique_name("small")) {
    struct stat owner {};
    if (stat(server.folder().c_str(), &owner) != 0)
        throw std::runtime_error("the server's folder cannot be read");
    std::string pattern =
        (std::filesystem::temp_directory_path() / "onceward-small-disk-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("cannot make a folder like " + pattern);
    folder_ = pattern;
    if (mount("tmpfs", folder_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, mount_options) != 0) {
        const std::string why = std::strerror(errno);
        std::filesystem::remove(folder_);
        throw std::runtime_error("no small disk can be mounted here: " + why);
    }
    try {
        // A tablespace's folder must be empty; the filler is next to it.
        const std::filesystem::path space = folder_ / "tables";
        std::filesystem::create_directory(space);
        for (const std::filesystem::path& path : {folder_, space}) {
            if (chown(path.c_str(), owner.st_uid, owner.st_gid) != 0)
                throw std::runtime_error("cannot give " + path.string() + " to the server's user");
        }
        support::Database database(dsn_);
        database.execute("CREATE TABLESPACE " + name_ + " LOCATION '" + space.string() + "'");
    } catch (...) {
        unmount();
        throw;
    }
}

SmallDisk::~SmallDisk() {
    clear();
    try {
        support::Database database(dsn_);
        database.execute("ALTER DATABASE postgres RESET default_tablespace");
        database.execute("DROP TABLESPACE " + name_);
    } catch (const std::exception& error) {
        std::cerr << "tablespace " << name_ << " stays: " << error.what() << "\n";
    }
    unmount();
}

void SmallDisk::unmount() noexcept {
    umount2(folder_.c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove(folder_, ignored);
}

void SmallDisk::take_schema(const std::string& schema) {
    support::Database database(dsn_);
    database.execute("ALTER DATABASE postgres SET default_tablespace = " + name_);
    database.execute(
        "DO $$ DECLARE one record; BEGIN FOR one IN SELECT oid::regclass AS name, relkind FROM "
        "pg_class WHERE relnamespace = '" +
        schema +
        "'::regnamespace AND relkind IN ('r', 'i') LOOP EXECUTE "
        "format('ALTER %s %s SET TABLESPACE " +
        name_ +
        "', CASE one.relkind WHEN 'r' THEN 'TABLE' ELSE 'INDEX' END, one.name); END LOOP; END $$");
}

void SmallDisk::fill() {
    const std::vector<char> block(filled_at_once, 'x');
    std::ofstream file(filler(), std::ios::binary | std::ios::app);
    while (file.write(block.data(), filled_at_once).flush()) {
    }
}

void SmallDisk::clear() {
    std::error_code ignored;
    std::filesystem::remove(filler(), ignored);
}

}  // namespace onceward::campaign
