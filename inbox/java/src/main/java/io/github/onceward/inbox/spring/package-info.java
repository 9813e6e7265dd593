/** The annotation {@link io.github.onceward.inbox.spring.Once} for methods of Spring's beans. */
package io.github.onceward.inbox.spring;
