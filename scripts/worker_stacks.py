"""Says where the processor time of a bench's workers goes, by part, from a profile of it.

usage: worker_stacks.py PERF_DATA [SETTING [FOLDED]]

SETTING: the number of the bench's run that is wanted, from 0 on in the order in which they began;
if it is missing or empty all of them are added up. FOLDED: where the stacks of that run's reader,
writer and fetching thread go, as inferno-flamegraph reads them. Times are seconds on a processor. A
thread is known by the functions that it runs; the bench's own, which fill the topic, are left out.
"""
import collections
import re
import subprocess
import sys

THREADS = (
    ("reader", r"onceward::Reader::run|onceward::Worker::State::run_reader"),
    ("writer", r"onceward::Writer::run"),
    ("librdkafka fetches", r"rd_kafka_msgset_reader|rd_kafka_op_new_fetch_msg"),
)
# The first that fits a stack, from its end to its beginning in one line.
PARTS = (
    ("page faults", r"asm_exc_page_fault"),
    ("system calls", r"entry_SYSCALL"),
    ("interrupts", r"asm_sysvec|_irq"),
    ("allocator", r"^(.*jemalloc|_int_|malloc|free|cfree|calloc|realloc|operator (new|delete))"),
    ("key and digest", r"libcrypto|SHA256|KeyExtractor|digest_of"),
    ("decode", r"Decoder|JsonWalk|JsonReader|simdjson"),
    ("encode the row", r"TableSink::encode|append_row|::encode"),
    ("librdkafka", r"^(rd_|mtx_|cnd_|pthread_)"),
    ("claims", r"DigestTable|LogWindow|LogStore|DistinctClaims|ClaimsUnderWay|LogAppend"),
)


def samples(file):
    """Yields (thread, time, [frame, ...]) of each sample, the innermost frame first."""
    fields = ["--fields", "tid,period,ip,sym,dso"]
    script = subprocess.run(["perf", "script", "--input", file, *fields], check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for block in script.split("\n\n"):
        head, *stack = block.strip("\n").split("\n")
        if not head.strip():
            continue
        thread, period = head.split()[:2]
        frames = []
        for line in stack:
            name, _, place = line.strip().partition(" ")[2].rpartition(" (")
            library = place.rstrip(")").rsplit("/", 1)[-1]
            frames.append(library if name == "[unknown]" else re.sub(r"\+0x[0-9a-f]+$", "", name))
        yield int(thread), int(period), frames


def main(file, setting=None, folded=None):
    stacks = collections.defaultdict(list)
    for thread, period, frames in samples(file):
        stacks[thread].append((period, frames))
    kinds = collections.defaultdict(list)  # in the order of the threads' numbers, as they began
    for thread in sorted(stacks):
        text = "\n".join(";".join(frames) for _, frames in stacks[thread])
        kind = next((name for name, pattern in THREADS if re.search(pattern, text)), None)
        if kind:
            kinds[kind].append(thread)
    parts, lines = collections.Counter(), []
    for kind, threads in kinds.items():
        for thread in threads if not setting else threads[int(setting):int(setting) + 1]:
            for period, frames in stacks[thread]:
                text = ";".join(frames)
                part = next((name for name, pattern in PARTS if re.search(pattern, text)),
                            "the rest")
                parts[part] += period
                lines.append(";".join([kind, *reversed(frames)]) + f" {period}")
    for part, time in parts.most_common():
        print(f"{part:20} {time / 1e9:6.2f}")
    print(f"{'all':20} {sum(parts.values()) / 1e9:6.2f}")
    if folded:
        with open(folded, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
