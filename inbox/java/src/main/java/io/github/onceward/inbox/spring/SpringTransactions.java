package io.github.onceward.inbox.spring;

import io.github.onceward.inbox.Transactions;
import io.github.onceward.inbox.Work;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Transactions of Spring: JdbcTemplate and repositories take part in them. */
public final class SpringTransactions implements Transactions {
    private final PlatformTransactionManager manager;
    private final DataSource source;

    public SpringTransactions(PlatformTransactionManager manager, DataSource source) {
        this.manager = manager;
        this.source = source;
    }

    @Override
    public <T, E extends Exception> T run(Work<T, E> work) throws SQLException, E {
        // DANGER: in the caller's transaction it could not be repeated after a COMMIT in doubt, and
        // a lease would not be committed before its call.
        if (TransactionSynchronizationManager.isActualTransactionActive()) {
            throw new IllegalTransactionStateException(
                "@Once begins a transaction of its own: call the method outside of any");
        }
        var definition = new DefaultTransactionDefinition();
        definition.setIsolationLevel(TransactionDefinition.ISOLATION_READ_COMMITTED);
        TransactionStatus status = manager.getTransaction(definition);
        T value;
        try {
            value = work.run(DataSourceUtils.getConnection(source));
        } catch (Throwable error) {
            try {
                manager.rollback(status);
            } catch (RuntimeException second) {
                error.addSuppressed(second);
            }
            throw error;
        }
        manager.commit(status);
        return value;
    }
}
