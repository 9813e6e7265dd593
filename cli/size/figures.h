#pragma once
// The measured figures that `onceward size` computes with. Each quotes the words of docs/scale.md
// that state it; a test compares them, so that neither changes without the other.

#include <array>
#include <string_view>

namespace onceward::figures {

struct Figure {
    double value;
    std::string_view source;  // a part of docs/scale.md
};

// Bytes of disk for a claim, with its index.
inline constexpr Figure table_disk{108, "108 bytes a claim of `table`"};
inline constexpr Figure log_disk{22.9, "22.9 bytes a sealed claim of `log`"};
inline constexpr Figure log_open_disk{17, "17 bytes one of its open generation"};
inline constexpr Figure lease_disk{417, "417 bytes a key of `lease`"};

// Bytes of memory for a claim in each process, by `log`.
inline constexpr Figure log_memory{1.31, "1.31 bytes a sealed claim in each process"};
inline constexpr Figure log_open_memory_least{22, "22 to 43 bytes one of the open generation"};
inline constexpr Figure log_open_memory_most{43, "22 to 43 bytes one of the open generation"};

// Bytes of WAL for a message, without its row in the sink.
inline constexpr Figure table_wal{204, "82 bytes a message by `log`, 204 by `table`"};
inline constexpr Figure log_wal{82, "82 bytes a message by `log`, 204 by `table`"};
inline constexpr Figure lease_wal{796, "796 bytes a key by `lease`"};

// CPU seconds for a million messages.
inline constexpr Figure table_worker{2.3, "2.3 CPU s by `log`, 2.3 by `table`"};
inline constexpr Figure log_worker{2.3, "2.3 CPU s by `log`, 2.3 by `table`"};
inline constexpr Figure table_server{4.2, "1.2 CPU s by `log`, 4.2 by `table`"};
inline constexpr Figure log_server{1.2, "1.2 CPU s by `log`, 4.2 by `table`"};
// For a million messages and each further process, by `log`: it reads what the others append.
inline constexpr Figure log_reading{0.21, "cost 0.21 (*n* - 1) CPU s more"};

// Seconds from the assignment to the first commit, and more for each million claims, by `log`.
inline constexpr Figure start{0.43, "A start takes 0.43 s"};
inline constexpr Figure log_start{0.002, "2 ms of start for each million"};

inline constexpr std::array all{table_disk,      log_disk,      log_open_disk, lease_disk,
                                log_memory,      log_open_memory_least,
                                log_open_memory_most,           table_wal,     log_wal,
                                lease_wal,       table_worker,  log_worker,    table_server,
                                log_server,      log_reading,   start,         log_start};

}  // namespace onceward::figures
