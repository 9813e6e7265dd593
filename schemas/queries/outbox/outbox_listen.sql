LISTEN onceward_outbox_{schema}
