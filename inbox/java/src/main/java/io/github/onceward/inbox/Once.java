package io.github.onceward.inbox;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;

/** Runs a function once for each key. */
public final class Once {
    private Once() {}

    /** An effect in another system, which gets the downstream key. */
    @FunctionalInterface
    public interface Call<T, E extends Exception> {
        T run(UUID downstreamKey) throws E;
    }

    /** {@link #inside(Transactions, Inbox, Key, OnceOptions, Work)}, on a connection of a pool. */
    public static <T, E extends Exception> T inside(DataSource source, Inbox inbox, Key key,
            OnceOptions<T> options, Work<T, E> work) throws SQLException, E {
        return inside(Transactions.of(source), inbox, key, options, work);
    }

    /**
     * For effects in the database. The claim, the work and its value are in one transaction. A
     * later call with the key returns the stored value and does not run the work.
     *
     * <p>The work may run several times, in transactions of which one commits at most, so it does
     * nothing outside of its transaction. What it throws rolls everything back and passes on. If
     * that is {@link InboxException.Failed}, it is stored as the key's result as well.
     */
    public static <T, E extends Exception> T inside(Transactions transactions, Inbox inbox, Key key,
            OnceOptions<T> options, Work<T, E> work) throws SQLException, E {
        // DANGER: one attempt for all tries. It tells our own result from another call's after a
        // COMMIT without an answer.
        UUID attempt = UUID.randomUUID();
        AtomicReference<T> value = new AtomicReference<>();
        InboxException.Failed failed = null;
        Claim claim;
        try {
            claim = claimed(transactions, inbox, key, options, attempt, tx -> {
                value.set(work.run(tx));
                return Result.of(options.codec().encode(value.get()));
            });
        } catch (InboxException.Failed error) {
            // Its effects are gone with its claim. The key is claimed again, for the result alone.
            failed = error;
            claim = claimed(transactions, inbox, key, options, attempt, tx -> resultOf(error));
        }
        if (failed != null && (claim.fresh() || claim.mine())) {
            throw failed;
        }
        return claim.fresh() ? value.get()
            : replayed(claim.outcome(), claim.status(), claim.body(), options.codec());
    }

    private static <E extends Exception> Claim claimed(Transactions transactions, Inbox inbox,
            Key key, OnceOptions<?> options, UUID attempt, Work<Result, E> effect)
            throws SQLException, E {
        return repeated(transactions, options, tx -> {
            Claim claim = inbox.claim(tx, key, attempt);
            if (claim.fresh()) {
                inbox.finish(tx, claim, effect.run(tx));
            }
            return claim;
        });
    }

    /** {@link #outside(Transactions, Inbox, Key, OnceOptions, Call)}, on connections of a pool. */
    public static <T, E extends Exception> T outside(DataSource source, Inbox inbox, Key key,
            OnceOptions<T> options, Call<T, E> call) throws SQLException, E {
        return outside(Transactions.of(source), inbox, key, options, call);
    }

    /**
     * For effects in other systems. A lease is committed first; then the call runs with the
     * downstream key and without a transaction, and its value is stored. A later call with the key
     * returns the stored value.
     *
     * <p>If the call throws {@link InboxException.Failed}, that is stored. Anything else leaves the
     * lease, because the effect may have happened: after the lease runs out, the next call makes
     * the effect again under the same downstream key, or throws
     * {@link InboxException.OutcomeUnknown} if the other system does not honour keys.
     */
    public static <T, E extends Exception> T outside(Transactions transactions, Inbox inbox,
            Key key, OnceOptions<T> options, Call<T, E> call) throws SQLException, E {
        Lease lease = leased(transactions, inbox, key, options);
        if (!lease.fresh()) {
            return replayed(lease.outcome(), lease.status(), lease.body(), options.codec());
        }
        T value = null;
        InboxException.Failed failed = null;
        CountDownLatch done = extended(transactions, inbox, lease, options.hold());
        try {
            value = call.run(lease.downstreamKey());
        } catch (InboxException.Failed error) {
            failed = error;
        } finally {
            done.countDown();
        }
        Result result = failed == null ? Result.of(options.codec().encode(value))
            : resultOf(failed);
        if (!repeated(transactions, options, tx -> inbox.endLease(tx, lease, result))) {
            throw new InboxException.LeaseLost();
        }
        if (failed != null) {
            throw failed;
        }
        return value;
    }

    /** Takes a lease in a transaction of its own, and waits for another holder if asked to. */
    private static Lease leased(Transactions transactions, Inbox inbox, Key key,
            OnceOptions<?> options) throws SQLException {
        // DANGER: one attempt for all tries. After a COMMIT without an answer it gets its own lease
        // again; another attempt would find the key in flight.
        UUID attempt = UUID.randomUUID();
        long deadline = System.nanoTime() + options.waitFor().toNanos();
        for (long pause = 50;; pause = Math.min(2 * pause, 1000)) {
            Lease lease = repeated(transactions, options, tx ->
                inbox.lease(tx, key, attempt, options.hold(), options.honoursKey()));
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (lease.outcome() != Outcome.IN_FLIGHT) {
                return lease;
            }
            if (left <= 0 || !slept(Math.min(pause, left))) {
                throw new InboxException.InFlight(lease.remaining());
            }
        }
    }

    /** Extends a lease every half of its hold, on a thread of its own, until the latch is open. */
    private static CountDownLatch extended(Transactions transactions, Inbox inbox, Lease lease,
            Duration hold) {
        CountDownLatch done = new CountDownLatch(1);
        Thread extender = new Thread(() -> {
            long pause = hold.toMillis() / 2;
            try {
                while (!done.await(Math.max(pause, 20), TimeUnit.MILLISECONDS)) {
                    try {
                        if (!transactions.run(tx -> inbox.extendLease(tx, lease, hold))) {
                            return;
                        }
                        pause = hold.toMillis() / 2;
                    } catch (SQLException | RuntimeException error) {
                        pause = hold.toMillis() / 10; // again, while the lease is still ours
                    }
                }
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }, "onceward-lease");
        extender.setDaemon(true);
        extender.start();
        return done;
    }

    private static Result resultOf(InboxException.Failed failed) {
        return new Result(failed.status(), List.of(), failed.body(), true);
    }

    /** Makes of a key's stored result what its first call returned or threw. */
    private static <T> T replayed(Outcome outcome, Integer status, byte[] body, Codec<T> codec) {
        if (outcome == Outcome.CONFLICT) {
            throw new InboxException.Conflict();
        }
        if (outcome == Outcome.EXPIRED) {
            throw new InboxException.Expired();
        }
        if (outcome == Outcome.FAILED) {
            // Of a lease that is known even if its result was erased.
            throw new InboxException.Failed(status == null ? 0 : status, body);
        }
        if (outcome == Outcome.UNKNOWN || body == null) {
            throw new InboxException.OutcomeUnknown();
        }
        return codec.decode(body);
    }

    private static <T, E extends Exception> T repeated(Transactions transactions,
            OnceOptions<?> options, Work<T, E> work) throws SQLException, E {
        long pause = options.pause().toMillis();
        for (int n = 1;; ++n) {
            try {
                return transactions.run(work);
            } catch (Exception error) {
                if (n >= options.tries() || !InboxException.isRetryable(error)
                        || !slept(pause / 2 + ThreadLocalRandom.current().nextLong(pause + 1))) {
                    throw error;
                }
                pause = Math.min(2 * pause, 2000);
            }
        }
    }

    /** Returns false if the thread was interrupted. */
    private static boolean slept(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
            return true;
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
