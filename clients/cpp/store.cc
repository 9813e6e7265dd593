#include "clients/cpp/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "clients/cpp/keys.h"

namespace onceward::client {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
    throw StoreFailed("the key store at " + path.string() + ": " + what);
}
[[noreturn]] void fail(const fs::path& path) { fail(path, std::strerror(errno)); }

class File {
  public:
    File(const fs::path& path, int flags) : path_(path), handle_(open(path.c_str(), flags, 0600)) {
        if (handle_ < 0) fail(path_);
    }
    ~File() { close(handle_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    void write(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t written = ::write(handle_, text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) fail(path_);
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    }
    void sync() const {
        if (fsync(handle_) != 0) fail(path_);
    }

  private:
    fs::path path_;
    int handle_;
};

// Takes the file away again, whatever came of it.
struct Temporary {
    fs::path path;
    explicit Temporary(fs::path at) : path(std::move(at)) {}
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    ~Temporary() { unlink(path.c_str()); }
};

// Nothing where there is no such file.
std::optional<Entry> read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::error_code unknown;
        if (!fs::exists(path, unknown) && !unknown) return std::nullopt;
        fail(path, "it cannot be read");
    }
    const std::string text(std::istreambuf_iterator<char>(file), {});
    try {
        const nlohmann::json found = nlohmann::json::parse(text);
        const double seconds = found.at("created_at").get<double>();
        return Entry{.operation = found.at("operation").get<std::string>(),
                     .key = found.at("key").get<std::string>(),
                     .fingerprint = found.at("fingerprint").get<std::string>(),
                     .created_at = std::chrono::milliseconds(
                         static_cast<std::chrono::milliseconds::rep>(seconds * 1000))};
    } catch (const nlohmann::json::exception&) {
        fail(path, "it is no entry of a store");
    }
}

}  // namespace

FileStore::FileStore(fs::path folder) : folder_(std::move(folder)) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) fail(folder_, error.message());
}

Entry FileStore::claim(const Entry& entry) {
    const fs::path path = path_of(entry.operation);
    const Temporary temporary(folder_ / ("." + random_hex() + ".new"));
    const nlohmann::json document = {
        {"operation", entry.operation},
        {"key", entry.key},
        {"fingerprint", entry.fingerprint},
        {"created_at", static_cast<double>(entry.created_at.count()) / 1000}};
    {
        const File file(temporary.path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC);
        file.write(document.dump());
        file.sync();
    }
    // Whole or not at all, and only if none exists: of two processes one wins.
    const bool made = link(temporary.path.c_str(), path.c_str()) == 0;
    if (!made && errno != EEXIST) fail(path);
    std::optional<Entry> found = made ? entry : read(path);
    if (!found) fail(path, "it went away meanwhile");
    // Also of one that was there: who wrote it may not have come this far.
    sync_folder();
    return *std::move(found);
}

void FileStore::forget(const std::string& operation, const std::string& key) {
    const fs::path path = path_of(operation);
    const std::optional<Entry> found = read(path);
    if (!found || found->key != key) return;
    if (unlink(path.c_str()) != 0 && errno != ENOENT) fail(path);
    sync_folder();
}

std::vector<Entry> FileStore::entries() {
    std::vector<Entry> all;
    std::error_code error;
    for (fs::directory_iterator file(folder_, error), end; !error && file != end;
         file.increment(error)) {
        if (file->path().extension() != ".json") continue;
        if (std::optional<Entry> entry = read(file->path())) all.push_back(*std::move(entry));
    }
    if (error) fail(folder_, error.message());
    std::ranges::sort(
        all, {}, [](const Entry& entry) { return std::tie(entry.created_at, entry.operation); });
    return all;
}

fs::path FileStore::path_of(const std::string& operation) const {
    return folder_ / (sha256(operation) + ".json");
}

void FileStore::sync_folder() const { File(folder_, O_RDONLY | O_DIRECTORY | O_CLOEXEC).sync(); }

}  // namespace onceward::client
