// Faults of the server that are nobody's data: the messages wait, none of them is dead-lettered,
// and the work continues by itself.

#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <future>
#include <iostream>

#include "lab/embedded/private_postgres.h"
#include "tests/integration/dedup/core_fixture.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using ::testing::IsEmpty;

// A file system of a few megabytes that the server may write to. Only root may make one.
class SmallDisk {
  public:
    explicit SmallDisk(const PrivatePostgres& server) {
        struct stat owner {};
        stat((server.folder() / "data").c_str(), &owner);
        std::filesystem::create_directory(folder_);
        const std::string options = "size=8m,mode=0700,uid=" + std::to_string(owner.st_uid) +
                                    ",gid=" + std::to_string(owner.st_gid);
        mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, options.c_str()) == 0;
        // The way to it must be open to the server's user, too.
        std::filesystem::permissions(folder_.parent_path(), std::filesystem::perms::others_exec,
                                     std::filesystem::perm_options::add);
    }
    ~SmallDisk() {
        if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
        std::filesystem::remove_all(folder_.parent_path());
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    bool mounted() const { return mounted_; }
    const std::filesystem::path& folder() const { return folder_; }

  private:
    static std::filesystem::path make_parent() {
        const auto parent =
            std::filesystem::temp_directory_path() / unique_name("onceward-small-disk");
        std::filesystem::create_directories(parent);
        return parent;
    }
    std::filesystem::path folder_ = make_parent() / "disk";
    bool mounted_ = false;
};

// Fills the sink's disk to the last page. If no disk can be made, a trigger raises the error of a
// full one.
class FullDisk {
  public:
    FullDisk(const SmallDisk& disk, Database& database, const std::string& table)
        : mounted_(disk.mounted()), database_(database), table_(table) {
        if (!mounted_) {
            std::cout << "no file system may be mounted here: 53100 comes from a trigger\n";
            database_.execute(
                "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE "
                "EXCEPTION 'full' USING ERRCODE = '53100'; END$$; CREATE TRIGGER full_disk BEFORE "
                "INSERT ON " +
                table_ + " EXECUTE FUNCTION full_disk()");
            return;
        }
        database_.execute("CREATE TABLESPACE small LOCATION '" + disk.folder().string() + "'");
        database_.execute("ALTER TABLE " + table_ + " SET TABLESPACE small");
        database_.execute("CREATE TABLE filler (x text) TABLESPACE small");
        for (const int rows : {1000, 100, 1}) fill(rows);
    }
    void make_room() {
        database_.execute(mounted_ ? "DROP TABLE filler" : "DROP TRIGGER full_disk ON " + table_);
    }

  private:
    void fill(int rows) {
        const std::string insert =
            "INSERT INTO filler SELECT repeat('x', 1000) FROM "
            "generate_series(1, " +
            std::to_string(rows) + ")";
        for (int i = 0; i < 10'000; ++i) {
            try {
                database_.execute(insert);
            } catch (const DatabaseError& error) {
                EXPECT_EQ(error.sqlstate(), "53100");
                return;
            }
        }
        ADD_FAILURE() << "the disk takes everything";
    }
    bool mounted_;
    Database& database_;
    std::string table_;
};

TEST(ServerFaults, AFullDiskDeadLettersNothingAndIsWaitedFor) {
    PrivatePostgres server;
    create_worker_role(server.dsn());
    const SmallDisk disk(server);
    {
        FreshSchema schema(PostgresAddress{server.dsn(), ""});
        const std::string table =
            schema.user_table("effects", std::string(effect_columns) + ", payload text");
        FullDisk full(disk, schema.database(), table);
        EffectSink sink(table);
        ScriptedLog log(2);
        for (const int partition : {0, 1}) append_keys(log, partition, "k", 2000);
        CoreWorkerOptions options;
        options.connection = schema.worker();
        options.batch_messages = 1000;
        CoreWorker worker(log, sink, options);
        for (int i = 0; i < 5; ++i) ASSERT_TRUE(worker.step());
        EXPECT_EQ(worker.failures["53100"], 5);
        EXPECT_EQ(schema.database().number("SELECT count(*) FROM dead_letters"), 0);
        EXPECT_EQ(schema.database().number("SELECT max(next_offset) FROM fences"), 0);
        full.make_room();
        ASSERT_TRUE(worker.run());
        EXPECT_EQ(worker.totals.applied, 2000);
        EXPECT_EQ(worker.totals.duplicates, 2000);
        EXPECT_THAT(violations(schema, log, table), IsEmpty());
    }
    server.stop();
}

class HotKey : public LedgerTest {};

// F25: the same key in every message of every partition, and a worker for each of them.
TEST_P(HotKey, FromEveryPartitionAtOnceIsAppliedOnceWithoutADeadlock) {
    constexpr int partitions = 4;
    ScriptedLog log(partitions);
    for (int partition = 0; partition < partitions; ++partition) {
        for (int i = 0; i < 25'000; ++i) log.append(partition, {.key = "hot"});
    }
    std::vector<std::unique_ptr<CoreWorker>> workers;
    for (int partition = 0; partition < partitions; ++partition) {
        CoreWorkerOptions worker = options("worker" + std::to_string(partition));
        worker.partitions = {partition};
        worker.batch_messages = 5000;
        workers.push_back(std::make_unique<CoreWorker>(log, sink_, worker));
    }
    std::vector<std::future<bool>> runs;
    for (const auto& worker : workers) {
        runs.push_back(std::async(std::launch::async, [&worker] { return worker->run(); }));
    }
    for (std::future<bool>& run : runs) EXPECT_TRUE(run.get());
    std::int64_t duplicates = 0;
    for (const auto& worker : workers) {
        EXPECT_EQ(worker->failures["40P01"], 0);
        duplicates += worker->totals.duplicates;
    }
    EXPECT_EQ(effects(), 1);
    EXPECT_EQ(duplicates, 99'999);
    expect_no_violations(log);
}

// A hundred thousand times in one batch: one claim, one row.
TEST_P(HotKey, AHundredThousandTimesInOneBatchIsOneRow) {
    ScriptedLog log(1);
    for (int i = 0; i < 100'000; ++i) log.append(0, {.key = "hot"});
    CoreWorkerOptions worker_options = options();
    worker_options.batch_messages = 100'000;
    CoreWorker worker(log, sink_, worker_options);
    ASSERT_TRUE(worker.step());
    EXPECT_EQ(fence(0), 100'000);
    EXPECT_EQ(effects(), 1);
    expect_no_violations(log);
}

INSTANTIATE_TEST_SUITE_P(Ledgers, HotKey, every_ledger, name_of);

}  // namespace
}  // namespace onceward::support
