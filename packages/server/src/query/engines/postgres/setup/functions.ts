/** Helper functions that give PostgreSQL the semantics of IQL; replaced at every start. */

import { MAX_SEARCH_STEPS, SHORT_PART_BYTES, UNSTORABLE_ESCAPE } from 'gatehouse-iql'
import { SCHEMA } from '../representation.ts'
import { STATISTICS_FUNCTIONS } from './functions-statistics.ts'
import { ZONE_FUNCTIONS } from './functions-zones.ts'
import { fail, type HelperFunction, plpgsql, sql } from './helper-function.ts'

const S = SCHEMA

/** The parameter `most` is the number of bytes that a created text may have. */
const TOO_LONG = fail('Limit.Value', 'most::text')

function refuseLonger(length: string): string {
  return `IF ${length} > most THEN ${TOO_LONG}; END IF;`
}

const LONG_SEARCH = fail('Limit.Search', "''")

/** Before a search for a text in another. */
function refuseLongSearch(part: string): string {
  const steps = `octet_length(x)::bigint * octet_length(${part})`
  return `IF octet_length(${part}) > ${SHORT_PART_BYTES} AND ${steps} > ${MAX_SEARCH_STEPS} THEN ${LONG_SEARCH}; END IF;`
}

/** Parses a text of a strict form. `value` may still fail (30 February), which is also a bad value. */
function parser(type: string, returns: string, form: string, value: string): HelperFunction {
  const unreadable = fail(
    'BadValue',
    `to_json(left(x, 60) || CASE WHEN length(x) > 60 THEN '…' ELSE '' END)::text || ' is not a valid ${type}'`,
  )
  return plpgsql`gh_text_${type.toLowerCase()}(x text) RETURNS ${returns} AS
    IF x COLLATE "C" !~ '${form}' THEN ${unreadable}; END IF;
    BEGIN RETURN ${value}; EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format OR invalid_text_representation THEN ${unreadable}; END;`
}

const DATE_FORM = '(?!0000)\\d{4}-\\d\\d-\\d\\d'
const TIME_FORM = '([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,60}0*)?)?'
const YEARS = `timestamp '0001-01-01' AND timestamp '9999-12-31 23:59:59.999999'`

/** The names of parameters must not change: CREATE OR REPLACE FUNCTION refuses that for a function that exists. */
export const HELPER_FUNCTIONS: readonly HelperFunction[] = [
  sql`gh_round_div(n numeric, d numeric, s int) RETURNS numeric AS
    CASE WHEN d = 0 THEN n / d ELSE sign(n) * sign(d) * div(2 * abs(n) * ('1e' || s)::numeric + abs(d), 2 * abs(d)) * ('1e-' || s)::numeric END`,
  ...STATISTICS_FUNCTIONS,
  ...ZONE_FUNCTIONS,
  sql`gh_twelve_digits(x float8) RETURNS float8 AS CASE WHEN x = 0 OR x IN ('NaN', 'Infinity', '-Infinity') THEN x
    ELSE round(x::text::numeric, 11 - floor(log(abs(x::text::numeric)))::int)::float8 END`,
  sql`gh_round(x float8) RETURNS float8 AS CASE WHEN abs(x - trunc(x)) >= 0.5 THEN trunc(x) + sign(x) ELSE trunc(x) END`,
  sql`gh_double_integer(x float8) RETURNS bigint AS ${S}.gh_round(x)::bigint`,
  plpgsql`gh_double_decimal(x float8) RETURNS numeric AS
    IF x IN ('NaN', 'Infinity', '-Infinity') THEN ${fail('Overflow', `'The result is out of range for Decimal'`)}; END IF; RETURN x::text::numeric;`,
  plpgsql`gh_double_text(x float8) RETURNS text AS
    DECLARE parts text[]; digits text; e int; mark text := CASE WHEN x < 0 THEN '-' ELSE '' END;
    BEGIN
      IF x = 0 THEN RETURN '0'; END IF;
      IF x IN ('NaN', 'Infinity', '-Infinity') THEN RETURN x::text; END IF;
      parts := regexp_match((abs(x)::text::numeric)::text, '^(\\d+)(?:\\.(\\d+))?$');
      digits := ltrim(parts[1] || coalesce(parts[2], ''), '0');
      e := CASE WHEN parts[1] = '0' THEN length(digits) - length(parts[2]) ELSE length(parts[1]) END;
      digits := rtrim(digits, '0');
      IF length(digits) <= e AND e <= 21 THEN RETURN mark || rpad(digits, e, '0'); END IF;
      IF 0 < e AND e <= 21 THEN RETURN mark || left(digits, e) || '.' || substr(digits, e + 1); END IF;
      IF -6 < e AND e <= 0 THEN RETURN mark || '0.' || repeat('0', -e) || digits; END IF;
      RETURN mark || left(digits, 1) || CASE WHEN length(digits) > 1 THEN '.' || substr(digits, 2) ELSE '' END
        || 'e' || CASE WHEN e > 0 THEN '+' ELSE '-' END || abs(e - 1);
    END;`,
  sql`gh_localtimestamp_text(x timestamp) RETURNS text AS replace(x::text, ' ', 'T')`,
  sql`gh_timestamp_text(x timestamp) RETURNS text AS replace(x::text, ' ', 'T') || 'Z'`,
  plpgsql`gh_binary_text(x bytea) RETURNS text AS
    RETURN convert_from(x, 'UTF8'); EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN ${fail('BadValue', `'The bytes are not valid UTF-8'`)};`,

  parser('Integer', 'bigint', '^[+-]?\\d{1,40}$', 'x::bigint'),
  parser('Decimal', 'numeric', '^[+-]?(\\d{1,80}(\\.\\d{0,80})?|\\.\\d{1,80})([eE][+-]?\\d{1,2})?$', 'x::numeric'),
  plpgsql`gh_text_decimal(x text, s int) RETURNS numeric AS
    IF scale(trim_scale(${S}.gh_text_decimal(x))) > s THEN ${fail('BadValue', `to_json(x)::text || ' has too many digits after the point'`)}; END IF;
    RETURN ${S}.gh_text_decimal(x);`,
  parser('Double', 'float8', '^([+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?|NaN|[+-]?Infinity)$', 'x::float8'),
  parser('Boolean', 'boolean', '^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$', 'x::boolean'),
  parser('Date', 'date', `^${DATE_FORM}$`, 'x::date'),
  parser('Time', 'time', `^${TIME_FORM}$`, `${S}.gh_in_day(x::time)`),
  parser(
    'Timestamp',
    'timestamp',
    `^${DATE_FORM}([Tt ]${TIME_FORM}([Zz]|[+-]([01]\\d|2[0-3])(:?[0-5]\\d)?)?)?$`,
    `${S}.gh_in_years(CASE WHEN x ~ '\\d([Zz]|[+-]\\d\\d(:?\\d\\d)?)$' AND length(x) > 10 THEN
      ${S}.gh_without_zone(x) ELSE x::timestamp END)`,
  ),
  parser('LocalTimestamp', 'timestamp', `^${DATE_FORM}([Tt ]${TIME_FORM})?$`, `${S}.gh_in_years(x::timestamp)`),
  parser('Uuid', 'uuid', '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$', 'x::uuid'),
  parser('Json', 'text', '', `${S}.gh_storable_json(btrim(x::json::text, E' \\t\\n\\r'))`),
  plpgsql`gh_storable_json(x text) RETURNS text AS
    IF ${S}.gh_mended_json(x) = x THEN RETURN x; END IF; RAISE invalid_text_representation;`,
  // Earlier versions stored escapes that PostgreSQL cannot parse. \\u005c is a backslash.
  plpgsql`gh_mended_json(x text) RETURNS text AS
    IF replace(x, '\\\\', '  ') !~ '${UNSTORABLE_ESCAPE.source}' THEN RETURN x; END IF;
    RETURN regexp_replace(replace(x, '\\\\', '\\u005c'), '${UNSTORABLE_ESCAPE.source}', '\\\\ufffd', 'g');`,
  // Not strict, so that the planner can inline it, as it can gh_json_item.
  {
    ...sql`gh_json(x text) RETURNS json AS
      (CASE WHEN strpos(x, '\\u') = 0 THEN x ELSE ${S}.gh_mended_json(x) END)::json`,
    takesNull: true,
  },
  sql`gh_text_binary(x text) RETURNS bytea AS convert_to(x, 'UTF8')`,
  sql`gh_without_zone(x text) RETURNS timestamp AS CASE WHEN x ~ '[Zz]$' THEN rtrim(x, 'Zz ')::timestamp
    ELSE regexp_replace(x, '[+-]\\d\\d(:?\\d\\d)?$', '')::timestamp
      - (substring(x FROM '([+-]\\d\\d)(?::?\\d\\d)?$') || ':' || coalesce(substring(x FROM '[+-]\\d\\d:?(\\d\\d)$'), '00'))::interval END`,
  plpgsql`gh_in_years(x timestamp) RETURNS timestamp AS
    IF x BETWEEN ${YEARS} THEN RETURN x; END IF; RAISE datetime_field_overflow;`,
  // 23:59:59.9999999 is rounded to 24:00:00.
  plpgsql`gh_in_day(x time) RETURNS time AS
    IF x < time '24:00' THEN RETURN x; END IF; RAISE datetime_field_overflow;`,

  sql`gh_micros(x timestamp) RETURNS bigint AS (extract(epoch FROM x) * 1000000)::bigint`,
  plpgsql`gh_timestamp(micros bigint) RETURNS timestamp AS
    IF micros < -62135596800000000 OR micros > 253402300799999999 THEN ${fail('Overflow', `'The result is out of range for Timestamp'`)}; END IF;
    micros := micros + 62135596800000000;
    RETURN (date '0001-01-01' + (micros / 86400000000)::int) + interval '1 microsecond' * (micros % 86400000000);`,
  plpgsql`gh_in_range(x timestamp) RETURNS timestamp AS
    IF x BETWEEN ${YEARS} THEN RETURN x; END IF; ${fail('Overflow', `'The result is out of range for Timestamp'`)};`,
  plpgsql`gh_date_add(x date, days bigint) RETURNS date AS
    IF (x - date '1970-01-01')::numeric + days NOT BETWEEN -719162 AND 2932896 THEN ${fail('Overflow', `'The result is out of range for Date'`)}; END IF;
    RETURN x + days::int;`,
  sql`gh_time_add(x time, micros bigint) RETURNS time AS x + interval '1 microsecond' * (micros % 86400000000)`,
  sql`gh_interval(micros bigint) RETURNS interval AS (micros || ' microseconds')::interval`,
  sql`gh_length(x interval) RETURNS bigint AS
    (extract(day FROM x) * 86400000000 + extract(hour FROM x) * 3600000000 + extract(minute FROM x) * 60000000 + extract(microseconds FROM x))::bigint`,
  sql`gh_times(x interval, n bigint) RETURNS interval AS
    ((extract(year FROM x) * 12 + extract(month FROM x)) * n || ' months ' || ${S}.gh_length(x)::numeric * n || ' microseconds')::interval`,
  sql`gh_date_trunc(unit text, x timestamp) RETURNS timestamp AS
    date_trunc(CASE unit WHEN 'millisecond' THEN 'milliseconds' ELSE unit END, x)`,
  sql`gh_date_part(part text, x timestamp) RETURNS bigint AS (CASE part
      WHEN 'year' THEN extract(year FROM x) WHEN 'quarter' THEN extract(quarter FROM x) WHEN 'month' THEN extract(month FROM x)
      WHEN 'week' THEN extract(week FROM x) WHEN 'day' THEN extract(day FROM x) WHEN 'dayofweek' THEN extract(isodow FROM x)
      WHEN 'dayofyear' THEN extract(doy FROM x) WHEN 'hour' THEN extract(hour FROM x) WHEN 'minute' THEN extract(minute FROM x)
      WHEN 'second' THEN trunc(extract(second FROM x)) WHEN 'millisecond' THEN trunc(mod(extract(microseconds FROM x), 1000000) / 1000)
      WHEN 'microsecond' THEN mod(extract(microseconds FROM x), 1000000) ELSE floor(extract(epoch FROM x)) END)::bigint`,
  sql`gh_date_diff(span text, a timestamp, b timestamp) RETURNS bigint AS
    (${S}.gh_micros(b) - ${S}.gh_micros(a)) / CASE span WHEN 'week' THEN 604800000000 WHEN 'day' THEN 86400000000 WHEN 'hour' THEN 3600000000
      WHEN 'minute' THEN 60000000 WHEN 'second' THEN 1000000 WHEN 'millisecond' THEN 1000 ELSE 1 END`,
  // In whole numbers: the quotient of two numerics is rounded, also upwards.
  plpgsql`gh_bucket(width bigint, x timestamp) RETURNS timestamp AS
    DECLARE since bigint := ${S}.gh_micros(x) - 946857600000000; past bigint;
    BEGIN
      IF width <= 0 THEN ${fail('BadValue', `'The width of a bucket must be positive'`)}; END IF;
      past := since % width;
      RETURN ${S}.gh_timestamp(946857600000000 + (since - past - CASE WHEN past < 0 THEN width ELSE 0 END));
    END;`,
  plpgsql`gh_bucket_months(width interval, x timestamp) RETURNS timestamp AS
    IF extract(year FROM width) * 12 + extract(month FROM width) <= 0 THEN ${fail('BadValue', `'The width of a bucket must be positive'`)}; END IF;
    RETURN ${S}.gh_month_start((extract(year FROM width) * 12 + extract(month FROM width))::int, ((extract(year FROM x) - 2000) * 12 + extract(month FROM x) - 1)::int);`,
  sql`gh_month_start(width int, month int) RETURNS timestamp AS
    ${S}.gh_in_range(timestamp '2000-01-01' + make_interval(months => (floor(month / width::numeric) * width)::int))`,

  plpgsql`gh_substr(x text, start bigint, count bigint) RETURNS text AS
    IF count < 0 THEN ${fail('BadValue', `'The length of a substring is negative'`)}; END IF;
    RETURN substr(x, least(greatest(start, 1), 2147483647)::int,
      least(greatest(start::numeric + count - greatest(start, 1), 0), 1073741823)::int);`,
  sql`gh_substr(x text, start bigint) RETURNS text AS substr(x, least(greatest(start, 1), 2147483647)::int)`,
  plpgsql`gh_too_long(n bigint, most int) RETURNS text AS ${TOO_LONG};`,
  ...['text', 'bytea'].map(
    (type) =>
      plpgsql`gh_key_fits(x ${type}, most int, name text) RETURNS ${type} AS
      IF octet_length(x) > most THEN ${fail('Limit.Key', "most::text || ' ' || name")}; END IF; RETURN x;`,
  ),
  // Before everything that reads the text as a whole.
  ...['text', 'bytea'].map((type) => ({
    ...plpgsql`gh_text_fits(x ${type}, most int) RETURNS boolean AS
      IF octet_length(x) > most THEN ${fail('Limit.Held', 'most::text')}; END IF; RETURN true;`,
    takesNull: true as const,
    cost: 0.0001,
  })),
  ...['text', 'bytea'].map(
    (type) => plpgsql`gh_group_fits(x ${type}, most int) RETURNS ${type} AS ${fail('Limit.Group', 'most::text')};`,
  ),
  plpgsql`gh_list_fits(n bigint, most int) RETURNS boolean AS ${fail('Limit.List', 'most::text')};`,
  plpgsql`gh_row_fits(n bigint, most int) RETURNS boolean AS
    IF n > most THEN ${fail('Limit.Row', 'most::text')}; END IF; RETURN true;`,
  plpgsql`gh_length_of(n bigint, most int) RETURNS int AS ${refuseLonger('n')} RETURN greatest(n, 0)::int;`,
  plpgsql`gh_fitting(x text, most int) RETURNS text AS ${refuseLonger('octet_length(x)')} RETURN x;`,
  plpgsql`gh_concat(a text, b text, most int) RETURNS text AS
    ${refuseLonger('octet_length(a)::bigint + octet_length(b)')} RETURN a || b;`,
  plpgsql`gh_repeat(x text, n bigint, most int) RETURNS text AS
    IF n <= 0 OR x = '' THEN RETURN ''; END IF; ${refuseLonger('n::numeric * octet_length(x)')} RETURN repeat(x, n::int);`,
  plpgsql`gh_replace(x text, part text, replacement text, most int) RETURNS text AS ${refuseLongSearch('part')}
    IF octet_length(replacement) > octet_length(part) AND part <> '' THEN
      ${refuseLonger(`octet_length(x) + (octet_length(x) - octet_length(replace(x, part, ''))) / octet_length(part)::bigint
         * (octet_length(replacement) - octet_length(part))`)}
    END IF;
    RETURN replace(x, part, replacement);`,
  plpgsql`gh_add_length(total bigint, x text, between_texts text, most int) RETURNS bigint AS
    total := total + octet_length(x) + octet_length(between_texts); ${refuseLonger('total')} RETURN total;`,
  plpgsql`gh_pattern(pattern text, mark text) RETURNS text AS DECLARE rest text := pattern;
    BEGIN
      WHILE mark <> '' AND strpos(rest, mark) > 0 LOOP
        rest := substr(rest, strpos(rest, mark) + 1);
        IF rest = '' THEN ${fail('BadValue', `'The pattern of LIKE ends with its escape character'`)}; END IF;
        rest := substr(rest, 2);
      END LOOP;
      RETURN pattern;
    END;`,
  plpgsql`gh_split_part(x text, separator text, n bigint) RETURNS text AS
    IF n <= 0 THEN ${fail('BadValue', `'Pieces are counted from 1'`)}; END IF; ${refuseLongSearch('separator')}
    RETURN split_part(x, separator, least(n, 2147483647)::int);`,
  {
    ...plpgsql`gh_search_fits(x text, most int) RETURNS boolean AS
      IF octet_length(x) > most THEN ${LONG_SEARCH}; END IF; RETURN true;`,
    takesNull: true,
    cost: 0.0001,
  },
  plpgsql`gh_strpos(x text, part text) RETURNS int AS ${refuseLongSearch('part')} RETURN strpos(x, part);`,
  ...['btrim', 'ltrim', 'rtrim'].map(
    (name) =>
      plpgsql`gh_${name}(x text, part text) RETURNS text AS ${refuseLongSearch('part')} RETURN ${name}(x, part);`,
  ),
  plpgsql`gh_like(x text, part text, mark text) RETURNS boolean AS
    ${refuseLongSearch('part')} RETURN x COLLATE "C" LIKE part ESCAPE mark;`,
  {
    ...sql`gh_json_item(x text, n bigint) RETURNS text AS
      CASE WHEN n BETWEEN 0 AND 2147483647 THEN (${S}.gh_json(x) -> n::int)::text END`,
    takesNull: true,
  },
  {
    ...sql`gh_json_item_text(x text, n bigint) RETURNS text AS
      CASE WHEN n BETWEEN 0 AND 2147483647 THEN ${S}.gh_json(x) ->> n::int END`,
    takesNull: true,
  },
  { ...plpgsql`gh_later(x anyelement) RETURNS anyelement AS RETURN x;`, isVolatile: true },
  { ...sql`gh_keep_known(a anyelement, b anyelement) RETURNS anyelement AS coalesce(b, a)`, takesNull: true },
  sql`gh_keep(a anyelement, b anyelement) RETURNS anyelement AS a`,
]

/** Each holds one value at a time. */
export const HELPER_AGGREGATES: readonly string[] = [
  /** The length of the texts that string_agg would join; fails as soon as it is too long. */
  aggregate('gh_total(text, text, int)', 'gh_add_length', "STYPE = bigint, INITCOND = '0'"),
  /** The last value that is not NULL. */
  aggregate('gh_locf(anyelement)', 'gh_keep_known', 'STYPE = anyelement'),
  aggregate('gh_ema(float8, bigint)', 'gh_ema_step', 'STYPE = float8'),
  /** The sum of squares, for DISTINCT. */
  aggregate('gh_squares(numeric)', 'gh_add_square', "STYPE = numeric, INITCOND = '0'"),
  /** The sum of steps, which fails where it exceeds an int: a count with a limit, without a call of PL/pgSQL for each row. */
  aggregate('gh_at_most(int)', 'int4pl', "STYPE = int, INITCOND = '0'", 'pg_catalog'),
  /** The first value in the order of the call. The functions are strict, so that NULL is left out. */
  aggregate('gh_first(anyelement)', 'gh_keep', 'STYPE = anyelement'),
]

function aggregate(signature: string, step: string, state: string, schema: string = S): string {
  return `CREATE OR REPLACE AGGREGATE ${S}.${signature} (SFUNC = ${schema}.${step}, ${state}, PARALLEL = SAFE)`
}
