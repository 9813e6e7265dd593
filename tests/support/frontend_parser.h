#pragma once
// Cuts what a PostgreSQL client sends into pieces, so that a proxy knows where a COMMIT begins and
// ends. Without TLS only. Pure: no I/O; one object for each connection; not thread-safe.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onceward::support {

class FrontendParser {
  public:
    struct Piece {
        std::string bytes;
        // The whole request of a COMMIT: a simple Query whose last statement it is, or everything
        // from its Parse to the Sync. Other pieces may be parts of a message.
        bool commit = false;
    };
    std::vector<Piece> take(std::string_view bytes);
    // As the client gave it at the start; '' before.
    const std::string& application_name() const { return application_name_; }

  private:
    bool take_startup(std::vector<Piece>& pieces);
    bool take_message(std::vector<Piece>& pieces);
    std::string buffer_;
    std::string extended_commit_;  // from a Parse of COMMIT on, until its Sync
    std::size_t pass_ = 0;         // bytes of a message that are of no interest
    bool started_ = false;
    std::string application_name_;
};

}  // namespace onceward::support
