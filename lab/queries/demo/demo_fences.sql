SELECT topic, partition, next_offset, applied, duplicates FROM {schema}.fences
