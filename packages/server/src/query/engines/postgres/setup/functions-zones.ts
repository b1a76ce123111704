/**
 * Times by the clocks of a time zone, which is two arrays: the instants of its transitions, and the offsets before, between and after
 * them, all in microseconds. PostgreSQL's own zones are never used. query/zones/zone.ts explains each function.
 *
 * PL/pgSQL takes an array apart at every call. So most rows are done by functions in SQL, which the planner inlines, and by functions
 * that get the offset instead of the arrays.
 */
import { MAX_SERIES_ROWS, MAX_SERIES_ROWS_TEXT, ZONE_WIDTH } from 'gatehouse-iql'
import { SCHEMA } from '../representation.ts'
import { fail, type HelperFunction, plpgsql, sql } from './helper-function.ts'

const S = SCHEMA
/** How many transitions are not after x. */
const SEGMENT = `width_bucket(${S}.gh_micros(x), ats)`
const ZONE = 'ats bigint[], offs bigint[]'
const DAY = '86400000000'
/** No offset is larger. */
const OFFSET = '57600000000'
const FIRST_MONDAY = '946857600000000'

const WIDTH = fail('BadValue', `'The width of a bucket must be positive'`)
const MONTHS = '(extract(year FROM width) * 12 + extract(month FROM width))::int'
const STEP = fail('BadValue', `'The step of a series must be positive'`)
const ROWS = fail('BadValue', `'A series can have at most ${MAX_SERIES_ROWS_TEXT} rows'`)

/** `past` is what has passed of a bucket of whole days at the local time `l`. */
const PAST_OF_DAYS = `past := (l - ${FIRST_MONDAY}) % width; IF past < 0 THEN past := past + width; END IF;`
/** `past` is what has passed since midnight. */
const PAST_MIDNIGHT = `past := l % ${DAY}; IF past < 0 THEN past := past + ${DAY}; END IF;`

export const ZONE_FUNCTIONS: readonly HelperFunction[] = [
  sql`gh_zone_local(x timestamp, ${ZONE}) RETURNS timestamp AS
    ${S}.gh_in_range(x + interval '1 microsecond' * offs[${SEGMENT} + 1])`,
  plpgsql`gh_zone_instant(x timestamp, ${ZONE}) RETURNS timestamp AS
    DECLARE l bigint := ${S}.gh_micros(x); i int := width_bucket(l - ${OFFSET}, ats);
    BEGIN
      WHILE i < cardinality(ats) AND ats[i + 1] + offs[i + 2] <= l LOOP i := i + 1; END LOOP;
      RETURN ${S}.gh_in_range(x - interval '1 microsecond' * offs[i + 1]);
    END;`,
  plpgsql`gh_zone_first(l bigint, ${ZONE}) RETURNS bigint AS
    DECLARE i int := width_bucket(l - ${OFFSET}, ats);
    BEGIN
      WHILE i < cardinality(ats) AND ats[i + 1] + offs[i + 1] <= l LOOP i := i + 1; END LOOP;
      RETURN greatest(l - offs[i + 1], ats[i]);
    END;`,
  plpgsql`gh_zone_latest(u bigint, ${ZONE}) RETURNS bigint AS
    DECLARE i int := width_bucket(u, ats); BEGIN RETURN greatest(u + offs[i + 1], ats[i] + offs[i] - 1); END;`,
  plpgsql`gh_zone_tick(width bigint, u bigint, ${ZONE}) RETURNS bigint AS
    DECLARE i int := width_bucket(u, ats); l bigint; past bigint;
    BEGIN
      LOOP
        l := u + offs[i + 1]; ${PAST_MIDNIGHT}
        l := l - past % width;
        IF i = 0 OR l - offs[i + 1] >= ats[i] THEN RETURN l - offs[i + 1]; END IF;
        IF l >= ats[i] + offs[i] THEN RETURN ats[i]; END IF;
        u := ats[i] - 1; i := i - 1;
      END LOOP;
    END;`,
  plpgsql`gh_zone_start(width bigint, u bigint, ${ZONE}) RETURNS bigint AS
    DECLARE l bigint; past bigint;
    BEGIN
      IF width <= 0 THEN ${WIDTH}; END IF;
      IF width % ${DAY} <> 0 THEN
        IF width > ${DAY} THEN ${fail('BadValue', `'With a time zone a bucket has ${ZONE_WIDTH}'`)}; END IF;
        RETURN ${S}.gh_zone_tick(width, u, ats, offs);
      END IF;
      l := ${S}.gh_zone_latest(u, ats, offs); ${PAST_OF_DAYS}
      RETURN ${S}.gh_zone_first(l - past, ats, offs);
    END;`,
  plpgsql`gh_zone_start(width interval, u bigint, ${ZONE}) RETURNS bigint AS
    RETURN ${S}.gh_zone_first(${S}.gh_micros(${S}.gh_bucket_months(width, ${S}.gh_timestamp(${S}.gh_zone_latest(u, ats, offs)))), ats, offs);`,
  // NULL if the bucket may begin before the last transition.
  {
    ...plpgsql`gh_zone_quick(width bigint, x timestamp, off bigint, since bigint, before bigint) RETURNS timestamp AS
    DECLARE l bigint := ${S}.gh_micros(x) + off; past bigint;
    BEGIN
      IF width <= 0 OR x IS NULL OR off IS NULL THEN RETURN NULL; END IF;
      IF width % ${DAY} = 0 THEN
        ${PAST_OF_DAYS}
        l := l - past;
        IF l < since + before THEN RETURN NULL; END IF;
      ELSIF width > ${DAY} THEN RETURN NULL;
      ELSE
        ${PAST_MIDNIGHT}
        l := l - past % width;
      END IF;
      IF l - off < since THEN RETURN NULL; END IF;
      RETURN ${S}.gh_timestamp(l - off);
    END;`,
    takesNull: true,
  },
  {
    ...plpgsql`gh_zone_quick(width interval, x timestamp, off bigint, since bigint, before bigint) RETURNS timestamp AS
    DECLARE l bigint;
    BEGIN
      IF x IS NULL OR width IS NULL OR off IS NULL THEN RETURN NULL; END IF;
      l := ${S}.gh_micros(${S}.gh_bucket_months(width, ${S}.gh_timestamp(${S}.gh_micros(x) + off)));
      IF l < since + before OR l - off < since THEN RETURN NULL; END IF;
      RETURN ${S}.gh_timestamp(l - off);
    END;`,
    takesNull: true,
  },
  ...['bigint', 'interval'].flatMap((type): HelperFunction[] => [
    plpgsql`gh_zone_slow(width ${type}, x timestamp, ${ZONE}) RETURNS timestamp AS
    RETURN ${S}.gh_timestamp(${S}.gh_zone_start(width, ${S}.gh_micros(x), ats, offs));`,
    {
      ...sql`gh_zone_bucket(width ${type}, x timestamp, ${ZONE}) RETURNS timestamp AS
    coalesce(${S}.gh_zone_quick(width, x, offs[${SEGMENT} + 1], ats[${SEGMENT}], offs[${SEGMENT}]), ${S}.gh_zone_slow(width, x, ats, offs))`,
      takesNull: true,
    },
  ]),
  plpgsql`gh_zone_next(width bigint, u bigint, ${ZONE}) RETURNS bigint AS
    DECLARE i int; l bigint; past bigint; following bigint; at bigint := u;
    BEGIN
      IF width % ${DAY} = 0 THEN
        l := ${S}.gh_zone_latest(u, ats, offs); ${PAST_OF_DAYS}
        l := l - past;
        LOOP
          l := l + width; following := ${S}.gh_zone_first(l, ats, offs);
          IF following > u THEN RETURN following; END IF;
        END LOOP;
      END IF;
      i := width_bucket(u, ats);
      LOOP
        l := at + offs[i + 1]; ${PAST_MIDNIGHT}
        following := l - past + least((past / width + 1) * width, ${DAY}) - offs[i + 1];
        IF i = cardinality(ats) OR following < ats[i + 1] THEN RETURN following; END IF;
        i := i + 1; at := ats[i];
        IF ${S}.gh_zone_tick(width, at, ats, offs) = at THEN RETURN at; END IF;
      END LOOP;
    END;`,
  plpgsql`gh_zone_next(width interval, u bigint, ${ZONE}) RETURNS bigint AS
    DECLARE x timestamp := ${S}.gh_bucket_months(width, ${S}.gh_timestamp(${S}.gh_zone_latest(u, ats, offs))); following bigint;
    BEGIN
      LOOP
        x := x + width; following := ${S}.gh_zone_first(${S}.gh_micros(x), ats, offs);
        IF following > u THEN RETURN following; END IF;
      END LOOP;
    END;`,
  ...['bigint', 'interval'].map(
    (type) => plpgsql`gh_zone_buckets(width ${type}, b timestamp, e timestamp, ${ZONE}) RETURNS SETOF timestamp AS
    DECLARE u bigint := ${S}.gh_zone_start(width, ${S}.gh_micros(b), ats, offs); stop bigint := ${S}.gh_micros(e); n int := 0;
    BEGIN
      WHILE u < stop LOOP
        n := n + 1; IF n > ${MAX_SERIES_ROWS} THEN ${ROWS}; END IF;
        RETURN NEXT ${S}.gh_timestamp(u);
        u := ${S}.gh_zone_next(width, u, ats, offs);
      END LOOP;
    END;`,
  ),
  // Steps are counted from the start. A local date that was skipped would repeat a time.
  plpgsql`gh_zone_series(step bigint, b timestamp, e timestamp, ${ZONE}) RETURNS SETOF timestamp AS
    DECLARE l timestamp := b; n bigint; x timestamp; last timestamp; is_calendar boolean := step % ${DAY} = 0;
    BEGIN
      IF step <= 0 THEN ${STEP}; END IF;
      n := ${S}.gh_micros(e) - ${S}.gh_micros(b);
      IF is_calendar THEN
        l := ${S}.gh_zone_local(b, ats, offs); n := ${S}.gh_micros(${S}.gh_zone_local(e, ats, offs)) - ${S}.gh_micros(l);
      END IF;
      IF n < 0 THEN RETURN; END IF;
      n := n / step;
      IF is_calendar AND ${S}.gh_zone_instant(${S}.gh_timestamp(${S}.gh_micros(l) + n * step), ats, offs) > e THEN n := n - 1; END IF;
      IF n >= ${MAX_SERIES_ROWS} THEN ${ROWS}; END IF;
      FOR i IN 0..n LOOP
        x := ${S}.gh_timestamp(${S}.gh_micros(l) + i * step);
        IF is_calendar THEN x := ${S}.gh_zone_instant(x, ats, offs); END IF;
        IF last IS NULL OR x > last THEN RETURN NEXT x; END IF;
        last := x;
      END LOOP;
    END;`,
  plpgsql`gh_zone_series(width interval, b timestamp, e timestamp, ${ZONE}) RETURNS SETOF timestamp AS
    DECLARE l timestamp := ${S}.gh_zone_local(b, ats, offs); stop timestamp := ${S}.gh_zone_local(e, ats, offs);
      n bigint; x timestamp; last timestamp;
    BEGIN
      IF ${MONTHS} <= 0 THEN ${STEP}; END IF;
      n := floor(((extract(year FROM stop) - extract(year FROM l)) * 12 + extract(month FROM stop) - extract(month FROM l)) / ${MONTHS}::numeric)::bigint;
      IF n >= 0 AND ${S}.gh_zone_instant(${S}.gh_in_range(l + ${S}.gh_times(width, n)), ats, offs) > e THEN n := n - 1; END IF;
      IF n >= ${MAX_SERIES_ROWS} THEN ${ROWS}; END IF;
      FOR i IN 0..n LOOP
        x := ${S}.gh_zone_instant(${S}.gh_in_range(l + ${S}.gh_times(width, i)), ats, offs);
        IF last IS NULL OR x > last THEN RETURN NEXT x; END IF;
        last := x;
      END LOOP;
    END;`,
  sql`gh_zone_part(part text, x timestamp, ${ZONE}) RETURNS bigint AS
    ${S}.gh_local_part(part, x, ${S}.gh_zone_local(x, ats, offs))`,
  plpgsql`gh_local_part(part text, x timestamp, local timestamp) RETURNS bigint AS
    RETURN CASE WHEN part = 'epoch' THEN ${S}.gh_date_part(part, x) ELSE ${S}.gh_date_part(part, local) END;`,
]
