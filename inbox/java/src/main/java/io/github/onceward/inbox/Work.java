package io.github.onceward.inbox;

import java.sql.Connection;
import java.sql.SQLException;

/** What runs in a transaction. It neither commits nor rolls back. */
@FunctionalInterface
public interface Work<T, E extends Exception> {
    T run(Connection tx) throws SQLException, E;
}
