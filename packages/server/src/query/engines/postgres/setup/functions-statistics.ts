/** Helper functions of PostgreSQL for variances, percentiles, correlation, interpolation and series. */
import { MAX_SERIES_ROWS, MAX_SERIES_ROWS_TEXT, ROOT_DIGITS, SPREAD_DIGITS } from 'gatehouse-iql'
import { SCHEMA } from '../representation.ts'
import { checked, fail, type HelperFunction, plain } from './helper-function.ts'

const S = SCHEMA

export const STATISTICS_FUNCTIONS: readonly HelperFunction[] = [
  plain(
    'gh_variance(n bigint, total numeric, squares numeric, s int)',
    'numeric',
    `CASE WHEN n > 1 THEN ${S}.gh_round_div(n * squares - total * total, n::numeric * (n - 1), s) END`,
  ),
  plain(
    'gh_stddev(n bigint, total numeric, squares numeric, s int)',
    'numeric',
    `CASE WHEN n > 1 THEN ${S}.gh_round_root(n * squares - total * total, n::numeric * (n - 1), s) END`,
  ),
  plain(
    'gh_var_pop(n bigint, total numeric, squares numeric, s int)',
    'numeric',
    `${S}.gh_round_div(n * squares - total * total, n::numeric * n, s)`,
  ),
  plain(
    'gh_stddev_pop(n bigint, total numeric, squares numeric, s int)',
    'numeric',
    `${S}.gh_round_root(n * squares - total * total, n::numeric * n, s)`,
  ),
  plain('gh_add_square(total numeric, x numeric)', 'numeric', 'total + x * x'),
  checked(
    'gh_corr(n bigint, x numeric, y numeric, xx numeric, yy numeric, xy numeric)',
    'float8',
    `DECLARE spreads numeric := (n * xx - x * x) * (n * yy - y * y); together numeric := n * xy - x * y;
     BEGIN
       IF spreads = 0 THEN RETURN NULL; END IF;
       RETURN (sign(together) * ${S}.gh_round_root(together * together, spreads, ${ROOT_DIGITS}))::float8;
     END;`,
  ),
  plain(
    'gh_round_root(n numeric, d numeric, s int)',
    'numeric',
    `(CASE WHEN (2 * r.low + 1) * (2 * r.low + 1) * d <= 4 * n * r.grown THEN r.low + 1 ELSE r.low END) * ('1e-' || s)::numeric
     FROM (SELECT g.grown, trunc(sqrt(div(n * g.grown, d))) AS low FROM (SELECT ('1e' || 2 * s)::numeric AS grown) AS g) AS r`,
  ),
  ...['bigint', 'numeric'].map((type) =>
    checked(
      `gh_percentile_cont(xs ${type}[], f numeric, from_scale int, to_scale int, n int)`,
      'numeric',
      `DECLARE p numeric := ${S}.gh_fraction(f) * (cardinality(xs) - 1); i int := floor(p)::int; low numeric := xs[i + 1];
       BEGIN
         RETURN round((low * (1 - p + i) + coalesce(xs[i + 2], low) * (p - i)) * ('1e-' || from_scale)::numeric, to_scale);
       END;`,
    ),
  ),
  checked(
    'gh_percentile_cont(xs float8[], f numeric, n int)',
    'float8',
    `DECLARE p numeric := ${S}.gh_fraction(f) * (cardinality(xs) - 1); i int := floor(p)::int;
       low float8 := xs[i + 1]; high float8 := coalesce(xs[i + 2], low);
     BEGIN
       IF p = i OR low = high THEN RETURN low; END IF;
       RETURN ${S}.gh_nearest_double(low::text::numeric * (1 - p + i) + high::text::numeric * (p - i));
     END;`,
  ),
  checked(
    'gh_percentile_disc(xs anyarray, f numeric, n int)',
    'anyelement',
    `RETURN xs[greatest(ceil(${S}.gh_fraction(f) * cardinality(xs)), 1)::int];`,
  ),
  checked(
    'gh_fraction(f numeric)',
    'numeric',
    `IF f < 0 OR f > 1 THEN ${fail('BadValue', `'The fraction of a percentile is a number from 0 to 1'`)}; END IF; RETURN f;`,
  ),
  /** PostgreSQL refuses a numeric that is closer to zero than the least Double. */
  plain(
    'gh_nearest_double(x numeric)',
    'float8',
    `CASE WHEN abs(x) < '2.4703282292062328e-324'::numeric THEN 0 ELSE x::float8 END`,
  ),
  {
    ...checked(
      'gh_interpolate(x numeric, t bigint, x0 numeric, t0 bigint, x1 numeric, t1 bigint, s int)',
      'numeric',
      `IF x IS NOT NULL OR t IS NULL OR x0 IS NULL OR x1 IS NULL THEN RETURN x; END IF;
       IF t <= t0 OR t1 <= t0 THEN RETURN x0; END IF;
       RETURN ${S}.gh_round_div(x0 * (t1::numeric - t) + x1 * (t::numeric - t0), t1::numeric - t0, s);`,
    ),
    takesNull: true,
  },
  {
    ...checked(
      'gh_interpolate(x float8, t bigint, x0 float8, t0 bigint, x1 float8, t1 bigint)',
      'float8',
      `IF x IS NOT NULL OR t IS NULL OR x0 IS NULL OR x1 IS NULL THEN RETURN x; END IF;
       IF t <= t0 OR t1 <= t0 THEN RETURN x0; END IF;
       RETURN ${S}.gh_nearest_double(${S}.gh_round_div(x0::text::numeric * (t1::numeric - t) + x1::text::numeric * (t::numeric - t0), t1::numeric - t0, ${SPREAD_DIGITS}));`,
    ),
    takesNull: true,
  },
  checked(
    'gh_series(b bigint, e bigint, s bigint)',
    'bigint',
    `IF s <= 0 THEN ${fail('BadValue', `'The step of a series must be positive'`)}; END IF;
     RETURN ${S}.gh_series_steps(floor((e::numeric - b) / s));`,
  ),
  checked(
    'gh_series_steps(n numeric)',
    'bigint',
    `IF n >= ${MAX_SERIES_ROWS} THEN ${fail('BadValue', `'A series can have at most ${MAX_SERIES_ROWS_TEXT} rows'`)}; END IF;
     RETURN greatest(n, -1)::bigint;`,
  ),
  checked(
    'gh_series_months(b timestamp, e timestamp, s interval)',
    'bigint',
    `DECLARE months int := extract(year FROM s) * 12 + extract(month FROM s);
       n int := floor(((extract(year FROM e) - extract(year FROM b)) * 12 + extract(month FROM e) - extract(month FROM b)) / months);
     BEGIN
       IF n >= 0 AND b + make_interval(months => n * months) > e THEN n := n - 1; END IF;
       RETURN ${S}.gh_series_steps(n);
     END;`,
  ),
]
