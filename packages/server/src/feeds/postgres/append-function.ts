/**
 * The function of PostgreSQL that appends a group of requests: one round trip and one transaction, so that a node that stops in between
 * never holds the lock of a feed.
 */
import { KIND, SCHEMA } from './tables.ts'

/** The group is too much for the feed, and nothing was appended. */
export const TOO_MANY_TOPICS = 'GF001'
export const TOO_MANY_BYTES = 'GF002'
/** The feed was dropped. */
export const NO_FEED = 'GF003'

/** Milliseconds of the database: nodes whose clocks differ must not disagree about what has expired. */
export const DATABASE_TIME = `floor(extract(epoch from clock_timestamp()) * 1000)::bigint`

/** How long an idempotency key is known. */
export const KEY_MS = 24 * 3_600_000

/**
 * Messages are numbered without gaps. `p_requests` has the index of each message's request, from 1. Owner, key and fingerprint are null
 * for a request without a key. The removal of a topic that holds nothing is left out. Messages that delayed readers are shown have numbers
 * and times already: `p_seqs` and `p_times`, which are null otherwise.
 */
export const APPEND_FUNCTION = `
create or replace function ${SCHEMA}.append_3(
  p_feed integer, p_now bigint, p_topics text[], p_data text[], p_requests integer[],
  p_owners text[], p_keys text[], p_fingerprints text[], p_seqs bigint[], p_times bigint[],
  out o_first_seq bigint, out o_count bigint, out o_time bigint, out o_requests integer[], out o_ends bigint[],
  out o_repeated integer[], out o_repeated_seqs bigint[], out o_repeated_times bigint[], out o_used integer[],
  out o_purges bigint
) language plpgsql as $gh$
declare
  f ${SCHEMA}.feeds;
  v_topics text[] := p_topics;
  v_data text[] := p_data;
  v_requests integer[] := p_requests;
  v_most integer;
  v_more_topics bigint := 0;
  v_more_bytes bigint := 0;
  v_held_bytes bigint := 0;
  v_kept_bytes bigint := 0;
  v_trimmed_seq bigint;
begin
  select * into f from ${SCHEMA}.feeds where id = p_feed for update;
  if not found then raise exception using errcode = '${NO_FEED}', message = 'The feed was dropped'; end if;
  o_purges := f.purges;
  o_time := greatest(coalesce(p_now, ${DATABASE_TIME}), f.last_time);

  if p_keys is not null then
    select array_agg(k.i) filter (where r.fingerprint = k.fingerprint),
      array_agg(r.seq) filter (where r.fingerprint = k.fingerprint),
      array_agg(r.time) filter (where r.fingerprint = k.fingerprint),
      array_agg(k.i) filter (where r.fingerprint <> k.fingerprint)
    into o_repeated, o_repeated_seqs, o_repeated_times, o_used
    from unnest(p_owners, p_keys, p_fingerprints) with ordinality as k (owner, key, fingerprint, i)
    join ${SCHEMA}.requests r on r.feed = p_feed and r.owner = k.owner and r.key = k.key
    where r.time > o_time - ${KEY_MS};
    if o_repeated is not null or o_used is not null then
      select array_agg(m.topic order by m.i), array_agg(m.data order by m.i), array_agg(m.request order by m.i)
      into v_topics, v_data, v_requests
      from unnest(p_topics, p_data, p_requests) with ordinality as m (topic, data, request, i)
      where m.request <> all (coalesce(o_repeated, '{}') || coalesce(o_used, '{}'));
    end if;
  end if;

  o_first_seq := f.last_seq + 1;
  v_most := case when f.kind = ${KIND.history} then least(f.history_messages, 2147483647) else 1 end;
  o_count := 0;
  if f.kind = ${KIND.notStored} then
    insert into ${SCHEMA}.messages (feed, class, seq, time, n, total, topic, data)
    select p_feed, f.class, f.last_seq + m.i, o_time, 0, 0, m.topic, m.data
    from unnest(v_topics, v_data) with ordinality as m (topic, data, i);
    get diagnostics o_count = row_count;
  else
    with given as (
      select m.i, m.topic, m.data, m.request, t.old, coalesce(p_times[m.i], o_time) as time, lag(m.data) over w as before, row_number() over w as k
      from unnest(v_topics, v_data, v_requests) with ordinality as m (topic, data, request, i)
      -- With LIMIT each is found by the index, whatever PostgreSQL believes about the size of the table.
      left join lateral (select t as old from ${SCHEMA}.topics t where t.feed = p_feed and t.topic = m.topic limit 1) t on true
      window w as (partition by m.topic order by m.i)
    ), numbered as (
      select coalesce(p_seqs[i], f.last_seq + row_number() over (order by i)) as seq, time, topic, data, request, old, coalesce(octet_length(data), 0) as bytes
      from given where data is not null or before is not null or (k = 1 and (old).is_live)
    ), counted as (
      select seq, time, topic, data, request, bytes, old,
        coalesce((old).last_n, f.last_seq) + row_number() over w as n,
        (coalesce((old).total, 0) + sum(bytes) over w)::bigint as total,
        coalesce(lag(seq) over w, (old).last_seq, f.forgotten_seq) as previous_seq,
        lead(seq) over w is null as is_last
      from numbered window w as (partition by topic order by seq)
    ), msg as materialized (
      -- In a topic n, seq and total grow together. Beyond the bound of messages: what is in the group.
      select *, max(n) filter (where data is null) over t as removed_n,
        max(previous_seq) filter (where data is null) over t as removed_seq, max(total) filter (where data is null) over t as removed_total,
        lag(seq, v_most) over w as beyond_seq, lag(total, v_most) over w as beyond_total
      from counted window w as (partition by topic order by seq), t as (partition by topic)
    ), written as (
      insert into ${SCHEMA}.messages (feed, class, seq, time, n, total, topic, data)
      select p_feed, f.class, seq, time, n, total, topic, data from msg where f.kind = ${KIND.history} or f.held_time > 0
    ), changed as (
      select *, n - v_most as beyond_n, coalesce((old).is_live, false) as was_live, coalesce((old).total - (old).trimmed_total, 0) as old_bytes,
        case when removed_n is not null then removed_n - 1
          when (old).last_n is null then f.last_seq
          when (old).last_time <= o_time - f.history_time then (old).last_n else (old).trimmed_n end as base_n,
        case when removed_n is not null then removed_seq
          when (old).last_n is null then f.forgotten_seq
          when (old).last_time <= o_time - f.history_time then (old).last_seq else (old).trimmed_seq end as base_seq,
        case when removed_n is not null then removed_total
          when (old).last_n is null then 0
          when (old).last_time <= o_time - f.history_time then (old).total else (old).trimmed_total end as base_total
      from msg where is_last
    ), bounded as materialized (
      -- Beyond the bound is nothing, a message of the group, or an earlier one.
      select c.*, case when c.beyond_n > c.base_n then coalesce(case when c.beyond_seq is not null then c.beyond_n end, o.n) end as cut_n,
        case when c.beyond_n > c.base_n then coalesce(c.beyond_seq, o.seq) end as cut_seq,
        case when c.beyond_n > c.base_n then coalesce(c.beyond_total, o.total) end as cut_total
      from changed c left join lateral (
        select m.n, m.seq, m.total from ${SCHEMA}.messages m
        where f.kind = ${KIND.history} and c.beyond_seq is null and c.beyond_n > c.base_n
          and m.feed = p_feed and m.class = f.class and m.topic = c.topic and m.n = c.beyond_n limit 1
      ) o on true
    ), trimmed as materialized (
      select topic, data, seq, time, n, total, was_live, old_bytes, coalesce(removed_n, (old).removed_n, 0) as removed_n,
        coalesce(cut_n, base_n) as trimmed_n, coalesce(cut_seq, base_seq) as trimmed_seq, coalesce(cut_total, base_total) as trimmed_total
      from bounded
    ), kept as (
      insert into ${SCHEMA}.topics as t (feed, topic, is_live, last_n, last_seq, last_time, total, trimmed_n, trimmed_seq, trimmed_total, removed_n, state_seq, removed_seq, data)
      select p_feed, topic, data is not null, n, seq, time, total, trimmed_n, trimmed_seq, trimmed_total,
        removed_n, case when f.is_latest then seq end, case when data is null then seq end, case when f.is_latest then data end
      from trimmed
      on conflict (feed, topic) do update set is_live = excluded.is_live, last_n = excluded.last_n, last_seq = excluded.last_seq,
        last_time = excluded.last_time, total = excluded.total, trimmed_n = excluded.trimmed_n, trimmed_seq = excluded.trimmed_seq,
        trimmed_total = excluded.trimmed_total, removed_n = excluded.removed_n, state_seq = excluded.state_seq,
        removed_seq = excluded.removed_seq, data = excluded.data
    )
    select (select count(*) from msg), e.requests, e.ends, d.topics, d.bytes, d.trimmed_seq,
      (select case when f.held_time > 0 then sum(bytes) end from msg)
    into o_count, o_requests, o_ends, v_more_topics, v_more_bytes, v_trimmed_seq, v_held_bytes
    from (
      select coalesce(sum((data is not null)::int - was_live::int), 0) as topics,
        coalesce(sum(total - trimmed_total - old_bytes), 0) as bytes, coalesce(max(trimmed_seq), 0) as trimmed_seq
      from trimmed
    ) d, (
      select array_agg(request) as requests, array_agg(seq) as ends
      from (select request, max(seq) as seq from msg group by request) each
    ) e;
    if v_more_topics > 0 and f.topics + v_more_topics > f.max_topics then
      raise exception using errcode = '${TOO_MANY_TOPICS}', message = 'The feed has too many topics';
    end if;
    v_held_bytes := coalesce(v_held_bytes, 0);
    if f.held_time > 0 then
      select f.held_bytes + coalesce(sum(bytes), 0) into v_kept_bytes from ${SCHEMA}.feeds where source = p_feed;
    end if;
    if v_more_bytes + v_held_bytes > 0 and f.bytes + v_kept_bytes + v_more_bytes + v_held_bytes > f.max_bytes then
      raise exception using errcode = '${TOO_MANY_BYTES}', message = 'The feed is full';
    end if;
  end if;

  if p_keys is not null then
    insert into ${SCHEMA}.requests as r (feed, owner, key, fingerprint, seq, time)
    select p_feed, k.owner, k.key, k.fingerprint,
      case when f.kind = ${KIND.notStored} then 0 else coalesce(o_ends[array_position(o_requests, k.i::int)], f.last_seq) end, o_time
    from unnest(p_owners, p_keys, p_fingerprints) with ordinality as k (owner, key, fingerprint, i)
    where k.key is not null and k.i <> all (coalesce(o_repeated, '{}') || coalesce(o_used, '{}'))
    on conflict (feed, owner, key) do update set fingerprint = excluded.fingerprint, seq = excluded.seq, time = excluded.time;
  end if;
  update ${SCHEMA}.feeds set last_seq = greatest(f.last_seq, coalesce(p_seqs[cardinality(p_seqs)], f.last_seq + o_count)),
    moved_seq = coalesce(p_seqs[cardinality(p_seqs)], f.moved_seq),
    last_time = coalesce(p_times[cardinality(p_times)], o_time), held_bytes = f.held_bytes + v_held_bytes, topics = f.topics + v_more_topics,
    bytes = f.bytes + v_more_bytes, trimmed_seq = greatest(f.trimmed_seq, v_trimmed_seq)
  where id = p_feed;
end $gh$`

/** For nodes that know nothing of delayed readers, and for those of version 1.0, which know nothing of purges here. */
export const EARLIER_APPEND_FUNCTIONS: readonly string[] = [
  `
create or replace function ${SCHEMA}.append_2(
  p_feed integer, p_now bigint, p_topics text[], p_data text[], p_requests integer[],
  p_owners text[], p_keys text[], p_fingerprints text[],
  out o_first_seq bigint, out o_count bigint, out o_time bigint, out o_requests integer[], out o_ends bigint[],
  out o_repeated integer[], out o_repeated_seqs bigint[], out o_repeated_times bigint[], out o_used integer[],
  out o_purges bigint
) language sql as $gh$
  select * from ${SCHEMA}.append_3(p_feed, p_now, p_topics, p_data, p_requests, p_owners, p_keys, p_fingerprints, null, null)
$gh$`,
  `
create or replace function ${SCHEMA}.append_1(
  p_feed integer, p_now bigint, p_topics text[], p_data text[], p_requests integer[],
  p_owners text[], p_keys text[], p_fingerprints text[],
  out o_first_seq bigint, out o_count bigint, out o_time bigint, out o_requests integer[], out o_ends bigint[],
  out o_repeated integer[], out o_repeated_seqs bigint[], out o_repeated_times bigint[], out o_used integer[]
) language sql as $gh$
  select o_first_seq, o_count, o_time, o_requests, o_ends, o_repeated, o_repeated_seqs, o_repeated_times, o_used
  from ${SCHEMA}.append_2(p_feed, p_now, p_topics, p_data, p_requests, p_owners, p_keys, p_fingerprints)
$gh$`,
]
