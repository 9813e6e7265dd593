-- Fails (22012) if sealed generations have one of these keys. The probe is claims_probe's.
SELECT 1 / (count(*) = 0)::integer FROM (
{probe}
) AS known
