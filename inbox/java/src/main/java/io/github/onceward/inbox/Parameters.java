package io.github.onceward.inbox;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Duration;
import java.util.UUID;

/** Sets the parameters of a statement one after another. */
final class Parameters {
    private final PreparedStatement statement;
    private int place;

    Parameters(PreparedStatement statement) {
        this.statement = statement;
    }

    Parameters texts(String... values) throws SQLException {
        for (String value : values) {
            statement.setString(++place, value);
        }
        return this;
    }

    Parameters bytes(byte[] value) throws SQLException {
        statement.setBytes(++place, value);
        return this;
    }

    Parameters uuid(UUID value) throws SQLException {
        if (value == null) {
            statement.setNull(++place, Types.OTHER);
        } else {
            statement.setObject(++place, value);
        }
        return this;
    }

    Parameters number(int value) throws SQLException {
        statement.setInt(++place, value);
        return this;
    }

    Parameters number(long value) throws SQLException {
        statement.setLong(++place, value);
        return this;
    }

    Parameters flag(boolean value) throws SQLException {
        statement.setBoolean(++place, value);
        return this;
    }

    Parameters time(Duration value) throws SQLException {
        Inbox.need(value, "a time to hold the lease");
        statement.setLong(++place, value.toMillis());
        return this;
    }

    Parameters array(String type, Object[] values) throws SQLException {
        if (values == null) {
            statement.setNull(++place, Types.ARRAY);
        } else {
            statement.setArray(++place, statement.getConnection().createArrayOf(type, values));
        }
        return this;
    }
}
