/** The functions of PostgreSQL that apply the bounds of time, change and purge a feed, and create and drop partitions. */
import { DATABASE_TIME, KEY_MS } from './append-function.ts'
import { KIND, SCHEMA } from './tables.ts'

/** How long a topic that was removed keeps its row. Afterwards it is unknown whether an older position of it has missed anything. */
const REMOVED_MS = 3_600_000
/** What one call does, so that publishers wait only shortly. */
const MESSAGES_AT_ONCE = 5000
const TOPICS_AT_ONCE = 1000

const OLDEST = (table: string, column: string, isWanted: string): string =>
  `(select ${column} from ${SCHEMA}.${table} x where x.feed = f.id and ${isWanted} limit 1)`

/** The feeds of $1 for which there is something to sweep at the time $2. */
export const DUE = `
select f.id from (
  select *, greatest(coalesce($2::bigint, ${DATABASE_TIME}) - delay, last_time) as now from ${SCHEMA}.feeds where id = any ($1::integer[])
) f where f.kind <> ${KIND.notStored} and (
  f.kind = ${KIND.history} and ${OLDEST('messages', 'time', 'x.class = f.class and x.seq > f.swept_seq order by x.seq')} <= f.now - f.history_time
  or f.is_latest and f.source is null and ${OLDEST('topics', 'last_time', 'x.is_live and x.state_seq is not null order by x.state_seq')} <= f.now - f.state_time
  or ${OLDEST('topics', 'last_time', 'x.removed_seq is not null order by x.removed_seq')} <= f.now - ${REMOVED_MS}
  or ${OLDEST('requests', 'time', 'true order by x.time')} <= f.now - ${KEY_MS})`

/**
 * What delayed readers see is swept by the time of their messages. Topics expire at the source, whose removals they are shown.
 *
 * Trims what is too old, and appends the removal of topics that have expired: under the lock of the feed, so exactly once. Returns how
 * many were removed, whether anything was done, and whether more is left to do.
 */
export const SWEEP_FUNCTION = `
create or replace function ${SCHEMA}.sweep_1(p_feed integer, p_now bigint, out o_removed bigint, out o_is_done boolean, out o_is_more boolean)
language plpgsql as $gh$
declare
  f ${SCHEMA}.feeds;
  v_now bigint;
  v_cutoff bigint;
  v_topic_cutoff bigint;
  v_seq bigint;
  v_count bigint;
  v_expired text[];
  v_bytes bigint;
  v_freed bigint := 0;
  v_trimmed_seq bigint := 0;
  v_more_trimmed_seq bigint;
begin
  o_removed := 0;
  o_is_done := false;
  o_is_more := false;
  for look in 1..2 loop
    -- First without the lock: mostly there is nothing to do.
    if look = 1 then select * into f from ${SCHEMA}.feeds where id = p_feed;
    else select * into f from ${SCHEMA}.feeds where id = p_feed for update; end if;
    if not found or f.kind = ${KIND.notStored} then return; end if;
    v_now := greatest(coalesce(p_now, ${DATABASE_TIME}) - f.delay, f.last_time);
    v_cutoff := case when f.kind = ${KIND.history} then v_now - f.history_time end;
    v_topic_cutoff := case when f.is_latest and f.source is null then v_now - f.state_time end;
    exit when not (
      exists (select from (select m.time from ${SCHEMA}.messages m where v_cutoff is not null and m.feed = p_feed and m.class = f.class
        and m.seq > f.swept_seq order by m.seq limit 1) oldest where time <= v_cutoff)
      or exists (select from (select last_time from ${SCHEMA}.topics where v_topic_cutoff is not null and feed = p_feed and is_live
        and state_seq is not null order by state_seq limit 1) oldest where last_time <= v_topic_cutoff)
      or exists (select from (select last_time from ${SCHEMA}.topics where feed = p_feed
        and removed_seq is not null order by removed_seq limit 1) oldest where last_time <= v_now - ${REMOVED_MS})
      or exists (select from ${SCHEMA}.requests where feed = p_feed and time <= v_now - ${KEY_MS}));
    continue when look = 1;

    v_expired := '{}';
    if v_cutoff is not null then
      with due as materialized (
        select m.topic, m.n, m.seq, m.total from (
          select topic, n, seq, total, time from ${SCHEMA}.messages
          where feed = p_feed and class = f.class and seq > f.swept_seq order by seq limit ${MESSAGES_AT_ONCE}
        ) m where m.time <= v_cutoff
      ), marks as (
        -- The newest message of a topic is its state.
        select distinct on (d.topic) d.topic, d.n, d.seq, d.total, d.total - t.trimmed_total as freed, t.is_live and d.n = t.last_n as is_expired
        from due d join lateral (select * from ${SCHEMA}.topics t where t.feed = p_feed and t.topic = d.topic limit 1) t on true
        where d.n > t.trimmed_n and (d.n < t.last_n or not f.is_latest or not t.is_live) order by d.topic, d.n desc
      ), trimmed as (
        update ${SCHEMA}.topics t set trimmed_n = m.n, trimmed_seq = m.seq, trimmed_total = m.total
        from marks m where t.feed = p_feed and t.topic = m.topic
      )
      select max(due.seq), count(*), (select coalesce(sum(freed), 0) from marks), (select coalesce(max(seq), 0) from marks),
        (select coalesce(array_agg(topic) filter (where is_expired), '{}') from marks)
      into v_seq, v_count, v_freed, v_trimmed_seq, v_expired from due;
      if f.source is not null then v_expired := '{}'; end if;
      f.swept_seq := greatest(f.swept_seq, v_seq);
      o_is_more := v_count = ${MESSAGES_AT_ONCE};
    end if;
    if v_topic_cutoff is not null then
      select array_agg(topic), count(*) into v_expired, v_count from (
        select topic, last_time from ${SCHEMA}.topics where feed = p_feed and is_live and state_seq is not null
        order by state_seq limit ${TOPICS_AT_ONCE}
      ) t where t.last_time <= v_topic_cutoff;
      o_is_more := o_is_more or v_count = ${TOPICS_AT_ONCE};
    end if;

    if v_expired <> '{}' then
      with expired as materialized (
        select t.*, f.last_seq + row_number() over (order by t.last_seq) as seq from unnest(v_expired) as e (topic)
        join lateral (select * from ${SCHEMA}.topics t where t.feed = p_feed and t.topic = e.topic limit 1) t on true
      ), announced as (
        insert into ${SCHEMA}.messages (feed, class, seq, time, n, total, topic, data)
        select p_feed, f.class, seq, v_now, last_n + 1, total, topic, null from expired where f.kind = ${KIND.history} or f.held_time > 0
      ), removed as (
        update ${SCHEMA}.topics t set is_live = false, last_n = e.last_n + 1, last_seq = e.seq, last_time = v_now, trimmed_n = e.last_n,
          trimmed_seq = e.last_seq, trimmed_total = e.total, removed_n = e.last_n + 1, removed_seq = e.seq,
          state_seq = case when f.is_latest then e.seq end, data = null
        from expired e where t.feed = p_feed and t.topic = e.topic
      )
      select count(*), coalesce(sum(total - trimmed_total), 0), coalesce(max(last_seq), 0)
      into o_removed, v_bytes, v_more_trimmed_seq from expired;
      v_freed := v_freed + v_bytes;
      v_trimmed_seq := greatest(v_trimmed_seq, v_more_trimmed_seq);
    end if;

    with old as (
      select topic from ${SCHEMA}.topics where feed = p_feed and removed_seq is not null and last_time <= v_now - ${REMOVED_MS}
      order by removed_seq limit ${TOPICS_AT_ONCE}
    ), gone as (
      delete from ${SCHEMA}.topics t using old where t.feed = p_feed and t.topic = old.topic returning t.last_seq
    ) select max(last_seq) into v_seq from gone;
    delete from ${SCHEMA}.requests r using (
      select owner, key from ${SCHEMA}.requests where feed = p_feed and time <= v_now - ${KEY_MS} order by time limit ${TOPICS_AT_ONCE}
    ) old where r.feed = p_feed and r.owner = old.owner and r.key = old.key;

    update ${SCHEMA}.feeds set last_seq = f.last_seq + o_removed, last_time = case when f.source is null then v_now else f.last_time end,
      topics = f.topics - o_removed,
      bytes = f.bytes - v_freed, swept_seq = f.swept_seq, forgotten_seq = greatest(f.forgotten_seq, v_seq),
      trimmed_seq = greatest(f.trimmed_seq, v_trimmed_seq, v_seq)
    where id = p_feed;
    o_is_done := true;
  end loop;
end $gh$`

/** Declares a feed, or changes what is stored of it so that it fits. A shorter time is applied by the sweep. */
const DEFINE = `
create or replace function ${SCHEMA}.define_1(
  p_name text, p_epoch text, p_kind smallint, p_is_latest boolean, p_messages bigint, p_time bigint, p_state_time bigint,
  p_topics bigint, p_bytes bigint, p_class smallint, p_width bigint, out o_id integer
) language plpgsql as $gh$
declare
  f ${SCHEMA}.feeds;
  v_oldest bigint;
begin
  insert into ${SCHEMA}.feeds (name, epoch, kind, is_latest, history_messages, history_time, state_time, max_topics, max_bytes, class)
  values (p_name, p_epoch, p_kind, p_is_latest, p_messages, p_time, p_state_time, p_topics, p_bytes, p_class)
  on conflict (name) do nothing;
  select * into f from ${SCHEMA}.feeds where name = p_name for update;
  o_id := f.id;
  if (f.kind, f.is_latest, f.history_messages, f.history_time, f.state_time, f.max_topics, f.max_bytes, f.class)
    is not distinct from (p_kind, p_is_latest, p_messages, p_time, p_state_time, p_topics, p_bytes, p_class) then return; end if;

  if f.kind <> p_kind and ${KIND.notStored} in (f.kind, p_kind) then
    perform ${SCHEMA}.purge_1(f.id, p_epoch);
  else
    if f.kind = ${KIND.history} and f.class <> p_class then
      select min(last_time) into v_oldest from ${SCHEMA}.topics where feed = f.id;
      select least(v_oldest, min(time)) into v_oldest from ${SCHEMA}.messages where feed = f.id and class = f.class and seq > f.swept_seq;
      if v_oldest is not null then
        perform ${SCHEMA}.create_partitions_1(p_class, p_width, v_oldest, f.last_time);
        update ${SCHEMA}.messages set class = p_class where feed = f.id and class = f.class and seq > f.swept_seq and time >= v_oldest;
      end if;
    end if;
    if p_is_latest and not f.is_latest then
      update ${SCHEMA}.topics set state_seq = last_seq where feed = f.id;
      update ${SCHEMA}.topics t set data = m.data from ${SCHEMA}.messages m
      where t.feed = f.id and t.is_live and m.feed = f.id and m.class in (f.class, p_class) and m.topic = t.topic and m.n = t.last_n;
    end if;
    if f.kind = ${KIND.states} and p_kind = ${KIND.history} then
      perform ${SCHEMA}.create_partitions_1(p_class, p_width, greatest(f.last_time - p_time, 0), f.last_time);
      insert into ${SCHEMA}.messages (feed, class, seq, time, n, total, topic, data)
      select f.id, p_class, last_seq, last_time, last_n, total, topic, data
      from ${SCHEMA}.topics where feed = f.id and is_live and last_time > f.last_time - p_time;
    elsif p_kind = ${KIND.states} then
      update ${SCHEMA}.topics t set trimmed_n = t.last_n - 1, trimmed_total = t.total - octet_length(t.data),
        trimmed_seq = coalesce((select m.seq from ${SCHEMA}.messages m where m.feed = f.id and m.class in (f.class, p_class)
          and m.topic = t.topic and m.n = t.last_n - 1), t.trimmed_seq)
      where t.feed = f.id and t.is_live;
    elsif p_messages < f.history_messages then
      update ${SCHEMA}.topics t set trimmed_n = m.n, trimmed_total = m.total, trimmed_seq = m.seq
      from ${SCHEMA}.messages m where t.feed = f.id and t.last_n - t.trimmed_n > p_messages
        and m.feed = f.id and m.class = p_class and m.topic = t.topic and m.n = t.last_n - p_messages;
    end if;
    if not p_is_latest and f.is_latest then
      -- States that are too old for the history.
      update ${SCHEMA}.topics set is_live = false, removed_seq = last_seq, trimmed_n = last_n, trimmed_seq = last_seq, trimmed_total = total
      where feed = f.id and is_live and last_time <= f.last_time - p_time;
      update ${SCHEMA}.topics set data = null, state_seq = null where feed = f.id;
    end if;
    update ${SCHEMA}.feeds set (topics, bytes, trimmed_seq) = (
      select count(*) filter (where is_live), coalesce(sum(total - trimmed_total), 0), greatest(f.trimmed_seq, coalesce(max(t.trimmed_seq), 0))
      from ${SCHEMA}.topics t where feed = f.id)
    where id = f.id;
  end if;
  update ${SCHEMA}.feeds set kind = p_kind, is_latest = p_is_latest, history_messages = p_messages, history_time = p_time,
    state_time = p_state_time, max_topics = p_topics, max_bytes = p_bytes, class = p_class where id = f.id;
end $gh$`

/** The messages stay in their partitions, where no topic counts them any more. */
export const PURGE_FUNCTION = `
create or replace function ${SCHEMA}.purge_1(p_feed integer, p_epoch text) returns void language plpgsql as $gh$
begin
  -- Delayed readers wait for nothing: it is forgotten for all.
  perform from ${SCHEMA}.feeds where p_feed in (id, source) order by id for update;
  delete from ${SCHEMA}.topics where feed in (select id from ${SCHEMA}.feeds where p_feed in (id, source));
  update ${SCHEMA}.feeds set epoch = p_epoch, purges = purges + 1, topics = 0, bytes = 0, trimmed_seq = last_seq, forgotten_seq = last_seq, swept_seq = last_seq,
    purged_seq = last_seq, held_seq = last_seq, held_bytes = 0
  where p_feed in (id, source);
end $gh$`

/** Attached, not created as partitions: readers and publishers go on, also during a dump of hours. */
const CREATE_PARTITIONS = `
create or replace function ${SCHEMA}.create_partitions_1(p_class smallint, p_width bigint, p_from bigint, p_until bigint)
returns void language plpgsql as $gh$
declare
  v_name text;
begin
  for v_number in p_from / p_width .. p_until / p_width loop
    v_name := 'm' || p_class || '_' || v_number;
    continue when to_regclass('${SCHEMA}.' || v_name) is not null;
    perform pg_advisory_xact_lock(hashtext('${SCHEMA} partitions'), p_class);
    -- Another node may have created it meanwhile, which to_regclass may not have noticed.
    continue when exists (select from pg_class where relnamespace = '${SCHEMA}'::regnamespace and relname = v_name);
    execute format('create table ${SCHEMA}.%I (like ${SCHEMA}.messages including all)', v_name);
    execute format('alter table ${SCHEMA}.%I attach partition ${SCHEMA}.%I for values from (%s) to (%s)',
      'm' || p_class, v_name, v_number * p_width, (v_number + 1) * p_width);
  end loop;
end $gh$`

export const FUNCTIONS: readonly string[] = [CREATE_PARTITIONS, DEFINE]
