/** Functions of other SQL dialects that IQL does not have, with what to write instead. */

const PERCENTILE = 'write percentile_cont(0.95, x), or percentile_cont(0.95) WITHIN GROUP (ORDER BY x)'
const NO_REGULAR_EXPRESSIONS = 'IQL has no regular expressions: write LIKE or ILIKE'
const UNION_OF_GROUPS = 'write a SELECT for each grouping, and combine them with UNION ALL'

export const FOREIGN_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ifnull: 'did you mean coalesce?',
    isnull: 'write IS NULL, or coalesce(x, y)',
    nvl: 'did you mean coalesce?',
    len: 'did you mean length?',
    char_length: 'did you mean length?',
    instr: 'did you mean position?',
    strpos: 'did you mean position?',
    ceiling: 'did you mean ceil?',
    pow: 'did you mean power?',
    var_samp: 'did you mean variance?',
    stddev_samp: 'did you mean stddev?',
    percentile: PERCENTILE,
    quantile: PERCENTILE,
    approx_percentile: PERCENTILE,
    approx_quantile: PERCENTILE,
    quantile_cont: PERCENTILE,
    quantile_disc: 'write percentile_disc(0.95, x), or percentile_disc(0.95) WITHIN GROUP (ORDER BY x)',
    width_bucket:
      'write floor((x - low) / width) for buckets of equal width, CASE WHEN x < 10 THEN 0 WHEN x < 100 THEN 1 ELSE 2 END for others, and time_bucket for times',
    histogram: 'write SELECT floor(x / 10) * 10 AS bucket, count(*) FROM t GROUP BY bucket',
    mode: 'write SELECT x FROM t GROUP BY x ORDER BY count(*) DESC LIMIT 1',
    any_value: 'write min(x), or first(x, time)',
    arg_max: 'did you mean last? write last(x, y) for the x of the greatest y',
    arg_min: 'did you mean first? write first(x, y) for the x of the least y',
    rollup: UNION_OF_GROUPS,
    cube: UNION_OF_GROUPS,
    getdate: 'did you mean now?',
    group_concat: 'did you mean string_agg?',
    to_char:
      "write CAST(x AS Text); for parts of a time EXTRACT(month FROM t), with zeros lpad(CAST(EXTRACT(month FROM t) AS Text), 2, '0')",
    clock_timestamp: 'did you mean now?',
    regexp_match: NO_REGULAR_EXPRESSIONS,
    regexp_matches: NO_REGULAR_EXPRESSIONS,
    regexp_like: NO_REGULAR_EXPRESSIONS,
    regexp_replace: `${NO_REGULAR_EXPRESSIONS}; for fixed texts replace(x, a, b)`,
    regexp_substr: `${NO_REGULAR_EXPRESSIONS}; for parts split_part(x, ':', 2)`,
    log: 'write ln(x) / ln(10)',
    log10: 'write ln(x) / ln(10)',
    btrim: 'did you mean trim?',
    transaction_timestamp: 'did you mean now?',
    gen_random_uuid: 'did you mean gen_uuid?',
    array_agg: "write string_agg(CAST(x AS Text), ', '): IQL has no arrays",
    unnest: 'IQL has no arrays: store a row for each element',
    random: 'IQL has no random numbers; for a sample take every hundredth row: WHERE id % 100 = 0',
    pg_terminate_backend:
      'write pg_cancel_backend(pid) to end a statement; operators end connections with gatehouse wire kick',
    pg_sleep: 'wait in your program; a query cannot',
    if: 'write CASE WHEN … THEN … ELSE … END',
    iif: 'write CASE WHEN … THEN … ELSE … END',
    convert: 'write CAST(x AS Type)',
  }),
)
