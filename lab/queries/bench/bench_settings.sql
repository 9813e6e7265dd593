SELECT string_agg(name || '=' || current_setting(name), ', ' ORDER BY name)
FROM unnest(ARRAY['server_version', 'fsync', 'synchronous_commit', 'full_page_writes',
    'shared_buffers', 'max_wal_size', 'wal_compression']) AS name
