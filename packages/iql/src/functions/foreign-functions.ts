/** Functions of other SQL dialects that IQL does not have, with what to write instead. */

const PERCENTILE = 'write percentile_cont(0.95, x), or percentile_cont(0.95) WITHIN GROUP (ORDER BY x)'
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
    rollup: UNION_OF_GROUPS,
    cube: UNION_OF_GROUPS,
    getdate: 'did you mean now?',
    group_concat: 'did you mean string_agg?',
    to_char: 'write CAST(x AS Text), or take parts with date_part',
    clock_timestamp: 'did you mean now?',
    statement_timestamp: 'did you mean now?',
    transaction_timestamp: 'did you mean now?',
    gen_random_uuid: 'did you mean gen_uuid?',
    array_agg: "write string_agg(CAST(x AS Text), ', '): IQL has no arrays",
    unnest: 'IQL has no arrays: store a row for each element',
    random: 'IQL has no random numbers; for a sample take every hundredth row: WHERE id % 100 = 0',
    pg_sleep: 'wait in your program; a query cannot',
    if: 'write CASE WHEN … THEN … ELSE … END',
    iif: 'write CASE WHEN … THEN … ELSE … END',
    convert: 'write CAST(x AS Type)',
  }),
)
