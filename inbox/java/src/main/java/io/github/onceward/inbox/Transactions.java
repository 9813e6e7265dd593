package io.github.onceward.inbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/** Where transactions come from. */
public interface Transactions {
    /**
     * Runs work in a new READ COMMITTED transaction, which commits if work returns and rolls back
     * if it throws. Returns only after the COMMIT was answered.
     */
    <T, E extends Exception> T run(Work<T, E> work) throws SQLException, E;

    /** Transactions of connections that a data source lends. */
    static Transactions of(DataSource source) {
        if (source == null) {
            throw new InboxException.Argument("a data source is needed, not null");
        }
        return new Transactions() {
            @Override
            public <T, E extends Exception> T run(Work<T, E> work) throws SQLException, E {
                try (Connection tx = source.getConnection()) {
                    return inTransaction(tx, work);
                }
            }
        };
    }

    private static <T, E extends Exception> T inTransaction(Connection tx, Work<T, E> work)
            throws SQLException, E {
        boolean commits = tx.getAutoCommit();
        tx.setAutoCommit(false);
        T value;
        try {
            try (Statement statement = tx.createStatement()) {
                statement.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
            }
            value = work.run(tx);
            commit(tx);
        } catch (Throwable error) {
            try {
                tx.rollback();
                tx.setAutoCommit(commits);
            } catch (SQLException second) {
                error.addSuppressed(second); // the connection is lost
            }
            throw error;
        }
        tx.setAutoCommit(commits);
        return value;
    }

    private static void commit(Connection tx) throws SQLException {
        try {
            tx.commit();
        } catch (SQLException error) {
            throw InboxException.translated(error);
        }
    }
}
