package io.github.onceward.inbox;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;

/**
 * What the inbox refuses. There is a class for each SQLSTATE, and the driver's error is the cause.
 * All other errors of the database stay the driver's own.
 */
public class InboxException extends RuntimeException {
    private final String sqlState;

    InboxException(String message, String sqlState, Throwable cause) {
        super(message, cause);
        this.sqlState = sqlState;
    }

    InboxException(SQLException cause) {
        this(cause.getMessage(), cause.getSQLState(), cause);
    }

    /** The SQLSTATE, which is the same in every language; null if the database sent no error. */
    public String sqlState() {
        return sqlState;
    }

    /** OW001: the transaction is not READ COMMITTED. */
    public static final class Isolation extends InboxException {
        Isolation(SQLException cause) {
            super(cause);
        }
    }

    /** OW002: the ledger has no inbox, or its store does not fit the function. */
    public static final class Ledger extends InboxException {
        Ledger(SQLException cause) {
            super(cause);
        }
    }

    /** OW003: the role may not use the ledger or the operation. */
    public static final class NotAllowed extends InboxException {
        NotAllowed(SQLException cause) {
            super(cause);
        }
    }

    /**
     * OW004: an argument is missing or not valid. Unless the cause is an SQLException, nothing was
     * sent.
     */
    public static final class Argument extends InboxException {
        Argument(SQLException cause) {
            super(cause);
        }

        public Argument(String message) {
            this(message, null);
        }

        /** The same, because of what a function of the program threw. */
        public Argument(String message, RuntimeException cause) {
            super(message, "OW004", cause);
        }
    }

    /** OW005: COMMIT of a claim without a result. */
    public static final class Unfinished extends InboxException {
        Unfinished(SQLException cause) {
            super(cause);
        }
    }

    /** OW006: this transaction has not claimed the key. */
    public static final class NotClaimed extends InboxException {
        NotClaimed(SQLException cause) {
            super(cause);
        }
    }

    /** OW007: the result is larger than the ledger allows. */
    public static final class ResultTooLarge extends InboxException {
        ResultTooLarge(SQLException cause) {
            super(cause);
        }
    }

    /** 55P03: another transaction holds the key, or the ledger, for longer than the wait. */
    public static final class Busy extends InboxException {
        Busy(SQLException cause) {
            super(cause);
        }
    }

    /** The schema's functions are of another version than this package. */
    public static final class Version extends InboxException {
        Version(String schema, int found, SQLException cause) {
            super("schema " + schema + " has version " + found + " of the inbox, and this package "
                + "needs " + Inbox.VERSION + ": upgrade " + (found > Inbox.VERSION
                    ? "the package" : "the schema with `onceward migrate up`"),
                cause == null ? null : cause.getSQLState(), cause);
        }
    }

    /** The key was used before with another fingerprint or another time. */
    public static final class Conflict extends InboxException {
        Conflict() {
            super("the key was used before with another fingerprint or time", null, null);
        }
    }

    /** The effect may have happened, and no result of it is kept. It must not be repeated. */
    public static final class OutcomeUnknown extends InboxException {
        OutcomeUnknown() {
            super("the key was used before, and no result of it is kept", null, null);
        }
    }

    /** The key was minted before the ledger's memory begins. */
    public static final class Expired extends InboxException {
        Expired() {
            super("the key was minted before the ledger's memory begins", null, null);
        }
    }

    /** Another caller holds the key's lease. */
    public static final class InFlight extends InboxException {
        private final Duration remaining;

        InFlight(Duration remaining) {
            super("another caller holds the key, for " + remaining + " at most", null, null);
            this.remaining = remaining;
        }

        /** How long the lease is held at most, if nobody extends it. */
        public Duration remaining() {
            return remaining;
        }
    }

    /**
     * The call was made, but its lease ran out and another caller took it over. Call again with the
     * key for the answer of that one.
     */
    public static final class LeaseLost extends InboxException {
        LeaseLost() {
            super("another caller took the lease over during the call", null, null);
        }
    }

    /**
     * A function throws this if it will never succeed under its key. It is stored, and each later
     * call with the key throws it again.
     */
    public static final class Failed extends InboxException {
        private final int status;
        private final byte[] body;

        /** A body that is null is empty. */
        public Failed(int status, byte[] body) {
            super("failed for good with status " + status, null, null);
            this.status = status;
            this.body = body == null ? new byte[0] : body.clone();
        }

        /** A body that is null is empty. */
        public Failed(int status, String body) {
            this(status, body == null ? null : body.getBytes(StandardCharsets.UTF_8));
        }

        public int status() {
            return status;
        }

        public byte[] body() {
            return body.clone();
        }
    }

    /** The exception for an error of the database, or null if the inbox has none for it. */
    public static InboxException of(SQLException error) {
        String state = error.getSQLState() == null ? "" : error.getSQLState();
        return switch (state) {
            case "OW001" -> new Isolation(error);
            case "OW002" -> new Ledger(error);
            case "OW003" -> new NotAllowed(error);
            case "OW004" -> new Argument(error);
            case "OW005" -> new Unfinished(error);
            case "OW006" -> new NotClaimed(error);
            case "OW007" -> new ResultTooLarge(error);
            case "55P03" -> new Busy(error);
            default -> null;
        };
    }

    /** Throws the inbox's exception for an error, or returns the error unchanged. */
    static SQLException translated(SQLException error) {
        InboxException known = of(error);
        if (known != null) {
            throw known;
        }
        return error;
    }

    // Serialization, deadlock, lock wait, and sessions that the server ended.
    private static final Set<String> RETRYABLE = Set.of("40001", "40P01", "55P03", "25P03", "57P01",
        "57P02", "57P03", "57P05");

    /**
     * Whether the transaction may be run again: PostgreSQL asks for it, another transaction held
     * the key for too long, or the connection was lost. Looks through the causes.
     */
    public static boolean isRetryable(Throwable error) {
        for (Throwable one = error; one != null && !(one instanceof Failed); one = one.getCause()) {
            String state = one instanceof SQLException sent ? sent.getSQLState() : null;
            if (state != null && (RETRYABLE.contains(state) || state.startsWith("08"))) {
                return true;
            }
        }
        return false;
    }
}
