package io.github.onceward.inbox.spring;

import io.github.onceward.inbox.Codec;
import io.github.onceward.inbox.JsonCodec;
import java.lang.reflect.Type;
import java.util.function.Function;
import javax.sql.DataSource;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * Makes {@link Once} work on all beans. Declare it in a static method with {@code @Bean}. It uses
 * the context's PlatformTransactionManager and DataSource. On a method that is transactional too,
 * the transaction of @Once is the outer one, and the method joins it.
 */
public final class OncePostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {
    private static final long serialVersionUID = 1;

    private final transient Function<Type, Codec<Object>> codecs;

    /** Values are stored by Jackson 2. */
    public OncePostProcessor() {
        this(JsonCodec::of);
    }

    /** Values of a method's return type are stored by the codec that the function answers with. */
    public OncePostProcessor(Function<Type, Codec<Object>> codecs) {
        this.codecs = codecs;
        setBeforeExistingAdvisors(true);
    }

    @Override
    public void setBeanFactory(BeanFactory factory) {
        super.setBeanFactory(factory);
        // The beans are asked for at the first call, since a post-processor is made before them.
        advisor = new DefaultPointcutAdvisor(
            AnnotationMatchingPointcut.forMethodAnnotation(Once.class),
            new OnceInterceptor(() -> new SpringTransactions(
                factory.getBean(PlatformTransactionManager.class),
                factory.getBean(DataSource.class)), codecs));
    }
}
