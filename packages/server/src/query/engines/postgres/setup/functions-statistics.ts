/** Helper functions of PostgreSQL for variances, percentiles, correlation, interpolation and series. */
import { MAX_SERIES_ROWS, MAX_SERIES_ROWS_TEXT, ROOT_DIGITS, SPREAD_DIGITS } from 'gatehouse-iql'
import { SCHEMA } from '../representation.ts'
import { fail, type HelperFunction, plpgsql, sql } from './helper-function.ts'

const S = SCHEMA

export const STATISTICS_FUNCTIONS: readonly HelperFunction[] = [
  sql`gh_variance(n bigint, total numeric, squares numeric, s int) RETURNS numeric AS
    CASE WHEN n > 1 THEN ${S}.gh_round_div(n * squares - total * total, n::numeric * (n - 1), s) END`,
  sql`gh_stddev(n bigint, total numeric, squares numeric, s int) RETURNS numeric AS
    CASE WHEN n > 1 THEN ${S}.gh_round_root(n * squares - total * total, n::numeric * (n - 1), s) END`,
  sql`gh_var_pop(n bigint, total numeric, squares numeric, s int) RETURNS numeric AS
    ${S}.gh_round_div(n * squares - total * total, n::numeric * n, s)`,
  sql`gh_stddev_pop(n bigint, total numeric, squares numeric, s int) RETURNS numeric AS
    ${S}.gh_round_root(n * squares - total * total, n::numeric * n, s)`,
  sql`gh_add_square(total numeric, x numeric) RETURNS numeric AS total + x * x`,
  plpgsql`gh_corr(n bigint, x numeric, y numeric, xx numeric, yy numeric, xy numeric) RETURNS float8 AS
    DECLARE spreads numeric := (n * xx - x * x) * (n * yy - y * y); together numeric := n * xy - x * y;
    BEGIN
      IF spreads = 0 THEN RETURN NULL; END IF;
      RETURN (sign(together) * ${S}.gh_round_root(together * together, spreads, ${ROOT_DIGITS}))::float8;
    END;`,
  sql`gh_covar_pop(n bigint, y numeric, x numeric, yx numeric) RETURNS float8 AS
    ${S}.gh_ratio(y, x, n * yx - y * x, n::numeric * n)`,
  sql`gh_covar_samp(n bigint, y numeric, x numeric, yx numeric) RETURNS float8 AS
    ${S}.gh_ratio(y, x, n * yx - y * x, n::numeric * (n - 1))`,
  sql`gh_regr_slope(n bigint, y numeric, x numeric, xx numeric, yx numeric) RETURNS float8 AS
    ${S}.gh_ratio(y, x, n * yx - y * x, n * xx - x * x)`,
  sql`gh_regr_intercept(n bigint, y numeric, x numeric, xx numeric, yx numeric) RETURNS float8 AS
    ${S}.gh_ratio(y, x, y * xx - x * yx, n * xx - x * x)`,
  sql`gh_regr_r2(n bigint, y numeric, x numeric, yy numeric, xx numeric, yx numeric) RETURNS float8 AS
    CASE WHEN n * xx - x * x <> 0 AND n * yy - y * y = 0 THEN 1
      ELSE ${S}.gh_ratio(y, x, (n * yx - y * x) * (n * yx - y * x), (n * xx - x * x) * (n * yy - y * y)) END`,
  /** NULL for a divisor of zero; NaN if a sum is infinite or NaN. */
  plpgsql`gh_ratio(y numeric, x numeric, a numeric, b numeric) RETURNS float8 AS
    IF b = 0 THEN RETURN NULL; END IF;
    IF x IN ('NaN', 'Infinity', '-Infinity') OR y IN ('NaN', 'Infinity', '-Infinity') THEN RETURN 'NaN'; END IF;
    RETURN ${S}.gh_nearest_double(${S}.gh_round_div(a, b, ${SPREAD_DIGITS}));`,
  {
    ...plpgsql`gh_ema_step(s float8, x float8, n bigint) RETURNS float8 AS
      DECLARE a float8;
      BEGIN
        IF x IS NULL OR n IS NULL THEN RETURN s; END IF;
        IF n < 1 THEN ${fail('BadValue', `'An exponential moving average is over at least one row'`)}; END IF;
        IF s IS NULL THEN RETURN x; END IF;
        a := 2 / (n::float8 + 1);
        RETURN a * x + (1 - a) * s;
      END;`,
    takesNull: true,
  },
  sql`gh_round_root(n numeric, d numeric, s int) RETURNS numeric AS
    (CASE WHEN (2 * r.low + 1) * (2 * r.low + 1) * d <= 4 * n * r.grown THEN r.low + 1 ELSE r.low END) * ('1e-' || s)::numeric
    FROM (SELECT g.grown, trunc(sqrt(div(n * g.grown, d))) AS low FROM (SELECT ('1e' || 2 * s)::numeric AS grown) AS g) AS r`,
  ...['bigint', 'numeric'].map(
    (type) =>
      plpgsql`gh_percentile_cont(xs ${type}[], f numeric, from_scale int, to_scale int, n int) RETURNS numeric AS
      DECLARE p numeric := ${S}.gh_fraction(f) * (cardinality(xs) - 1); i int := floor(p)::int; low numeric := xs[i + 1];
      BEGIN
        RETURN round((low * (1 - p + i) + coalesce(xs[i + 2], low) * (p - i)) * ('1e-' || from_scale)::numeric, to_scale);
      END;`,
  ),
  plpgsql`gh_percentile_cont(xs float8[], f numeric, n int) RETURNS float8 AS
    DECLARE p numeric := ${S}.gh_fraction(f) * (cardinality(xs) - 1); i int := floor(p)::int;
      low float8 := xs[i + 1]; high float8 := coalesce(xs[i + 2], low);
    BEGIN
      IF p = i OR low = high THEN RETURN low; END IF;
      RETURN ${S}.gh_nearest_double(low::text::numeric * (1 - p + i) + high::text::numeric * (p - i));
    END;`,
  plpgsql`gh_percentile_disc(xs anyarray, f numeric, n int) RETURNS anyelement AS
    RETURN xs[greatest(ceil(${S}.gh_fraction(f) * cardinality(xs)), 1)::int];`,
  plpgsql`gh_fraction(f numeric) RETURNS numeric AS
    IF f < 0 OR f > 1 THEN ${fail('BadValue', `'The fraction of a percentile is a number from 0 to 1'`)}; END IF; RETURN f;`,
  /** PostgreSQL refuses a numeric that is closer to zero than the least Double. */
  sql`gh_nearest_double(x numeric) RETURNS float8 AS
    CASE WHEN abs(x) < '2.4703282292062328e-324'::numeric THEN 0 ELSE x::float8 END`,
  {
    ...plpgsql`gh_interpolate(x numeric, t bigint, x0 numeric, t0 bigint, x1 numeric, t1 bigint, s int) RETURNS numeric AS
      IF x IS NOT NULL OR t IS NULL OR x0 IS NULL OR x1 IS NULL THEN RETURN x; END IF;
      IF t <= t0 OR t1 <= t0 THEN RETURN x0; END IF;
      RETURN ${S}.gh_round_div(x0 * (t1::numeric - t) + x1 * (t::numeric - t0), t1::numeric - t0, s);`,
    takesNull: true,
  },
  {
    ...plpgsql`gh_interpolate(x float8, t bigint, x0 float8, t0 bigint, x1 float8, t1 bigint) RETURNS float8 AS
      IF x IS NOT NULL OR t IS NULL OR x0 IS NULL OR x1 IS NULL THEN RETURN x; END IF;
      IF t <= t0 OR t1 <= t0 THEN RETURN x0; END IF;
      RETURN ${S}.gh_nearest_double(${S}.gh_round_div(x0::text::numeric * (t1::numeric - t) + x1::text::numeric * (t::numeric - t0), t1::numeric - t0, ${SPREAD_DIGITS}));`,
    takesNull: true,
  },
  plpgsql`gh_series(b bigint, e bigint, s bigint) RETURNS bigint AS
    IF s <= 0 THEN ${fail('BadValue', `'The step of a series must be positive'`)}; END IF;
    RETURN ${S}.gh_series_steps(CASE WHEN e < b THEN -1 ELSE div(e::numeric - b, s) END);`,
  plpgsql`gh_series_steps(n numeric) RETURNS bigint AS
    IF n >= ${MAX_SERIES_ROWS} THEN ${fail('BadValue', `'A series can have at most ${MAX_SERIES_ROWS_TEXT} rows'`)}; END IF;
    RETURN greatest(n, -1)::bigint;`,
  plpgsql`gh_series_months(b timestamp, e timestamp, s interval) RETURNS bigint AS
    DECLARE months int := extract(year FROM s) * 12 + extract(month FROM s);
      n int := floor(((extract(year FROM e) - extract(year FROM b)) * 12 + extract(month FROM e) - extract(month FROM b)) / months);
    BEGIN
      IF n >= 0 AND b + make_interval(months => n * months) > e THEN n := n - 1; END IF;
      RETURN ${S}.gh_series_steps(n);
    END;`,
]
