/**
 * The functions of PostgreSQL for readers with a delay. What they see of a feed is a feed of its own, to which messages are appended when
 * they are old enough, with their numbers and times: its state, history and gaps are those of the feed that much earlier.
 */
import { DATABASE_TIME } from './append-function.ts'
import { CLASSES, KIND, SCHEMA } from './tables.ts'

/** Messages that one call moves, and their bytes. */
const MOVED_AT_ONCE = 2000
const MOVED_BYTES = 8 << 20
/** Held messages that one call of the sweep looks at. */
const COUNTED_AT_ONCE = 5000
/** A delay that no node has needed for this long is forgotten. Nodes say it again in a part of that time. */
const [UNDECLARED_MS, DECLARE_MS] = [120_000, 30_000]
/** It has no bounds of its own. */
const UNBOUNDED = 2 ** 53

const WIDTHS = `(array[${CLASSES.map(({ partitionMs }) => partitionMs).join()}]::bigint[])`

/** The feeds of $1 of which delayed readers can be shown more at the time $2. */
export const DUE_TO_MOVE = `
select distinct d.source as id from ${SCHEMA}.feeds d join ${SCHEMA}.feeds f on f.id = d.source where d.source = any ($1::integer[]) and (
  select m.time from ${SCHEMA}.messages m where m.feed = f.id and m.class = f.class and m.time >= d.last_time
    and m.seq > greatest(d.moved_seq, f.purged_seq) order by m.seq limit 1
) <= coalesce($2::bigint, ${DATABASE_TIME}) - d.delay`

/** Declares a feed, or changes it, with the delays that a node needs. A new one begins with what the feed keeps. */
const DEFINE = `
create or replace function ${SCHEMA}.define_2(
  p_name text, p_epoch text, p_kind smallint, p_is_latest boolean, p_messages bigint, p_time bigint, p_state_time bigint,
  p_topics bigint, p_bytes bigint, p_class smallint, p_width bigint, p_delays bigint[], p_classes smallint[], p_now bigint,
  out o_id integer, out o_delays bigint[], out o_delayed integer[]
) language plpgsql as $gh$
declare
  f ${SCHEMA}.feeds;
  d ${SCHEMA}.feeds;
  v_moved bigint;
  v_oldest bigint;
  v_now bigint;
  v_longest bigint := 0;
  v_delayed integer;
  v_new integer[] := '{}';
begin
  select * into f from ${SCHEMA}.feeds where name = p_name for update;
  if found and f.held_time > 0 then
    if f.class <> p_class then
      select min(moved_seq) into v_moved from ${SCHEMA}.feeds where source = f.id;
      select min(time) into v_oldest from ${SCHEMA}.messages where feed = f.id and class = f.class and seq > v_moved;
      if v_oldest is not null then
        perform ${SCHEMA}.create_partitions_1(p_class, p_width, v_oldest, f.last_time);
        update ${SCHEMA}.messages set class = p_class where feed = f.id and class = f.class and seq > v_moved and time >= v_oldest;
      end if;
    end if;
    if f.kind = ${KIND.states} and p_kind = ${KIND.history} then
      -- They become the beginning of the history.
      delete from ${SCHEMA}.messages m using ${SCHEMA}.topics t
      where t.feed = f.id and t.is_live and t.last_time > f.last_time - p_time
        and m.feed = f.id and m.class in (f.class, p_class) and m.seq = t.last_seq;
    end if;
  end if;
  select define_1.o_id into o_id from ${SCHEMA}.define_1(p_name, p_epoch, p_kind, p_is_latest, p_messages, p_time, p_state_time, p_topics, p_bytes, p_class, p_width);
  if cardinality(p_delays) = 0 and f.held_time = 0 then return; end if;

  select * into f from ${SCHEMA}.feeds where id = o_id for update;
  v_now := greatest(coalesce(p_now, ${DATABASE_TIME}), f.last_time);
  for i in 1 .. cardinality(p_delays) loop
    select * into d from ${SCHEMA}.feeds where source = f.id and delay = p_delays[i];
    if not found then
      perform ${SCHEMA}.create_partitions_1(p_classes[i], ${WIDTHS}[p_classes[i] + 1], greatest(v_now - p_delays[i] - p_time, 0), v_now);
      select define_1.o_id into v_delayed from ${SCHEMA}.define_1(p_name || '@' || p_delays[i], f.epoch, p_kind, p_is_latest, p_messages,
        p_time, p_state_time, ${UNBOUNDED}, ${UNBOUNDED}, p_classes[i], ${WIDTHS}[p_classes[i] + 1]);
      update ${SCHEMA}.feeds set source = f.id, delay = p_delays[i], epoch = f.epoch, purges = f.purges, forgotten_seq = f.trimmed_seq,
        trimmed_seq = f.trimmed_seq where id = v_delayed;
      v_new := v_new || v_delayed;
    end if;
    update ${SCHEMA}.feeds set declared = v_now where source = f.id and delay = p_delays[i];
  end loop;
  for d in select * from ${SCHEMA}.feeds where source = f.id order by id loop
    perform ${SCHEMA}.define_1(d.name, d.epoch, p_kind, p_is_latest, p_messages, p_time, p_state_time, ${UNBOUNDED}, ${UNBOUNDED},
      d.class, ${WIDTHS}[d.class + 1]);
    v_longest := greatest(v_longest, d.delay);
  end loop;
  update ${SCHEMA}.feeds set held_time = v_longest where id = f.id;

  if v_new <> '{}' then
    perform ${SCHEMA}.create_partitions_1(f.class, ${WIDTHS}[f.class + 1], greatest(v_now - v_longest, 0), v_now);
    -- States that are too young for some, and of which the history has no message.
    insert into ${SCHEMA}.messages (feed, class, seq, time, n, total, topic, data)
    select f.id, f.class, last_seq, last_time, last_n, total, topic, data from ${SCHEMA}.topics t
    where feed = f.id and is_live and f.is_latest and last_time > v_now - v_longest and not exists (
      select from ${SCHEMA}.messages m where m.feed = f.id and m.class = f.class and m.seq = t.last_seq);
    -- The others. What the history has is moved.
    insert into ${SCHEMA}.topics (feed, topic, is_live, last_n, last_seq, last_time, total, trimmed_n, trimmed_seq, trimmed_total, removed_n, state_seq, data)
    select n.id, topic, true, last_n, last_seq, last_time, total, last_n - 1, trimmed_seq, total - octet_length(data), removed_n, state_seq, data
    from ${SCHEMA}.topics t, unnest(v_new) as n (id)
    where feed = f.id and is_live and f.is_latest and last_time <= v_now - v_longest and not exists (
      select from ${SCHEMA}.messages m where m.feed = f.id and m.class = f.class and m.seq = t.last_seq);
    update ${SCHEMA}.feeds n set (topics, bytes, last_seq) = (
      select count(*), coalesce(sum(total - trimmed_total), 0), coalesce(max(t.last_seq), 0) from ${SCHEMA}.topics t where t.feed = n.id)
    where id = any (v_new);
    if f.held_time = 0 then
      update ${SCHEMA}.feeds set held_bytes = (
        select coalesce(sum(octet_length(data)), 0) from ${SCHEMA}.messages m where m.feed = f.id and m.class = f.class and m.seq > f.held_seq)
      where id = f.id;
    end if;
  end if;
  select array_agg(delay), array_agg(id) into o_delays, o_delayed from ${SCHEMA}.feeds where source = f.id;
end $gh$`

/** Shows what is old enough to the readers with each delay of a feed; by one node at a time. */
const MOVE = `
create or replace function ${SCHEMA}.move_1(
  p_feed integer, p_now bigint, out o_feeds integer[], out o_seqs bigint[], out o_late bigint, out o_is_more boolean
) language plpgsql as $gh$
declare
  f ${SCHEMA}.feeds;
  d ${SCHEMA}.feeds;
  v_id integer;
  v_horizon bigint;
  v_next bigint;
  v_topics text[];
  v_data text[];
  v_seqs bigint[];
  v_times bigint[];
begin
  o_feeds := '{}';
  o_seqs := '{}';
  o_late := 0;
  o_is_more := false;
  select * into f from ${SCHEMA}.feeds where id = p_feed;
  for v_id in select id from ${SCHEMA}.feeds where source = p_feed order by delay loop
    select * into d from ${SCHEMA}.feeds where id = v_id for update skip locked;
    continue when not found;
    v_horizon := coalesce(p_now, ${DATABASE_TIME}) - d.delay;
    select m.time into v_next from ${SCHEMA}.messages m where m.feed = p_feed and m.class = f.class and m.time >= d.last_time
      and m.seq > greatest(d.moved_seq, f.purged_seq) order by m.seq limit 1;
    continue when v_next is null or v_next > v_horizon;
    select array_agg(topic order by seq), array_agg(data order by seq), array_agg(seq order by seq), array_agg(time order by seq)
    into v_topics, v_data, v_seqs, v_times
    from (
      select *, sum(octet_length(data)) over (order by seq rows between unbounded preceding and 1 preceding) as before from (
        select m.topic, m.data, m.seq, m.time from ${SCHEMA}.messages m where m.feed = p_feed and m.class = f.class and m.time >= d.last_time
          and m.seq > greatest(d.moved_seq, f.purged_seq) order by m.seq limit ${MOVED_AT_ONCE}
      ) next
    ) due where time <= v_horizon and coalesce(before, 0) < ${MOVED_BYTES};
    continue when v_seqs is null;
    perform ${SCHEMA}.create_partitions_1(d.class, ${WIDTHS}[d.class + 1], v_times[1], v_times[cardinality(v_times)]);
    perform ${SCHEMA}.append_3(v_id, v_horizon, v_topics, v_data, '{}', null, null, null, v_seqs, v_times);
    o_feeds := o_feeds || v_id;
    o_seqs := o_seqs || v_seqs[cardinality(v_seqs)];
    o_late := greatest(o_late, v_horizon - v_times[1]);
    select m.time into v_next from ${SCHEMA}.messages m where m.feed = p_feed and m.class = f.class
      and m.time >= v_times[1] and m.seq > v_seqs[cardinality(v_seqs)] order by m.seq limit 1;
    o_is_more := o_is_more or coalesce(v_next <= v_horizon, false);
  end loop;
end $gh$`

/**
 * Held messages that all delayed readers have count no longer; they go with their partitions. `p_delays` are those that the node needs:
 * what none needs is forgotten. Returns how many of them are known, and whether there is more to do.
 */
const TRIM = `
create or replace function ${SCHEMA}.trim_held_1(
  p_feed integer, p_delays bigint[], p_now bigint, out o_known bigint, out o_is_more boolean
) language plpgsql as $gh$
declare
  f ${SCHEMA}.feeds;
  v_now bigint;
  v_moved bigint;
  v_longest bigint;
  v_seq bigint;
  v_bytes bigint;
  v_count bigint;
begin
  o_is_more := false;
  o_known := 0;
  select * into f from ${SCHEMA}.feeds where id = p_feed and held_time > 0 for update;
  if not found then return; end if;
  v_now := greatest(coalesce(p_now, ${DATABASE_TIME}), f.last_time);
  select count(*) into o_known from ${SCHEMA}.feeds where source = p_feed and delay = any (p_delays);
  update ${SCHEMA}.feeds set declared = v_now where source = p_feed and delay = any (p_delays) and declared < v_now - ${DECLARE_MS};
  with gone as (
    delete from ${SCHEMA}.feeds where source = p_feed and declared < v_now - ${UNDECLARED_MS} returning id
  ) delete from ${SCHEMA}.topics t using gone where t.feed = gone.id;
  select min(moved_seq), max(delay) into v_moved, v_longest from ${SCHEMA}.feeds where source = p_feed;
  if v_longest is null then
    update ${SCHEMA}.feeds set held_time = 0, held_bytes = 0, held_seq = last_seq where id = p_feed;
    return;
  end if;
  select max(seq), coalesce(sum(octet_length(data)), 0), count(*) into v_seq, v_bytes, v_count from (
    select m.seq, m.data from ${SCHEMA}.messages m where m.feed = p_feed and m.class = f.class and m.seq > f.held_seq and m.seq <= v_moved
    order by m.seq limit ${COUNTED_AT_ONCE}
  ) counted;
  update ${SCHEMA}.feeds set held_time = v_longest, held_seq = greatest(held_seq, v_seq), held_bytes = greatest(held_bytes - v_bytes, 0)
  where id = p_feed and (v_seq is not null or held_time <> v_longest);
  o_is_more := v_count = ${COUNTED_AT_ONCE};
end $gh$`

export const DELAYED_FUNCTIONS: readonly string[] = [DEFINE, MOVE, TRIM]
