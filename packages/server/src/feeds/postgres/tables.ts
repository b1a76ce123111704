/** The tables of feeds in PostgreSQL: what each column means, and how messages are partitioned. */

export const SCHEMA = 'gatehouse_feeds'

/** In `feeds.kind`: what is stored of a feed. */
export const KIND = { notStored: 0, states: 1, history: 2 } as const

/**
 * The definition of a feed is in its row, so that all nodes trim alike. `last_seq` is changed in every transaction that appends, so that
 * their order is the order in which they become visible, and never goes back: neither does `last_time`.
 */
const FEEDS = `create table ${SCHEMA}.feeds (
  id integer generated always as identity primary key,
  -- The generation of the feed.
  name text collate "C" not null unique,
  epoch text not null,
  -- How many epochs there were before: of two, the later one.
  purges bigint not null default 0,
  kind smallint not null,
  is_latest boolean not null,
  history_messages bigint not null,
  history_time bigint not null,
  state_time bigint,
  max_topics bigint not null,
  max_bytes bigint not null,
  class smallint not null,
  last_seq bigint not null default 0,
  last_time bigint not null default 0,
  topics bigint not null default 0,
  bytes bigint not null default 0,
  -- The highest number of a message that was removed.
  trimmed_seq bigint not null default 0,
  -- The highest number of a topic whose row was deleted.
  forgotten_seq bigint not null default 0,
  -- Messages up to here have been looked at for the bound of time.
  swept_seq bigint not null default 0
) with (fillfactor = 50)`

/**
 * \`n\` counts the messages of a topic, \`total\` their bytes: those up to \`trimmed_n\` are not kept any more. \`data\` is the state, with
 * \`latest\`. A topic that was removed keeps its row for a while, so that readers learn of it. A new row begins its count at the feed's
 * last number, which no earlier count of the topic can have reached.
 */
const TOPICS = `create table ${SCHEMA}.topics (
  feed integer not null,
  topic text collate "C" not null,
  is_live boolean not null,
  last_n bigint not null,
  last_seq bigint not null,
  last_time bigint not null,
  total bigint not null,
  trimmed_n bigint not null,
  trimmed_seq bigint not null,
  trimmed_total bigint not null,
  -- The count of its last removal.
  removed_n bigint not null,
  -- The last number, only with latest, and only of a topic that was removed: what is indexed changes as seldom as possible.
  state_seq bigint,
  removed_seq bigint,
  data text,
  primary key (feed, topic)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0)`

/** Without \`data\`: the topic was removed. */
const MESSAGES = `create table ${SCHEMA}.messages (
  feed integer not null,
  class smallint not null,
  seq bigint not null,
  time bigint not null,
  n bigint not null,
  total bigint not null,
  topic text collate "C" not null,
  data text
) partition by list (class)`

const REQUESTS = `create table ${SCHEMA}.requests (
  feed integer not null,
  owner text collate "C" not null,
  key text collate "C" not null,
  fingerprint text collate "C" not null,
  seq bigint not null,
  time bigint not null,
  primary key (feed, owner, key)
)`

/** `additions`: how many of those in setup.ts it has. `losses`: the losses of acknowledged writes after which the feeds have begun new epochs. `system`: the cluster of the servers. */
const MARKS = `create table ${SCHEMA}.marks (name text primary key, value text not null)`

/** The last number when the feed was purged: what followers have not read up to there is gone. */
export const PURGED_SEQ = `alter table ${SCHEMA}.feeds add column purged_seq bigint not null default 0`

/**
 * What delayed readers see of a feed is one too: `source` is that feed, `delay` how much later it has the messages. They are read from the
 * messages of the source, which are kept for `held_time` at least, whatever its history; those after `held_seq` have `held_bytes`. It has them up to `moved_seq`.
 * `declared` is when a node said last that it needs the delay.
 */
export const DELAYED_FEEDS = `alter table ${SCHEMA}.feeds add column source integer, add column delay bigint not null default 0,
  add column held_time bigint not null default 0, add column held_bytes bigint not null default 0,
  add column held_seq bigint not null default 0, add column moved_seq bigint not null default 0,
  add column declared bigint not null default 0;
create index feeds_by_source on ${SCHEMA}.feeds (source) where source is not null`

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A class of feeds whose messages are kept for a similar time, in partitions of their own, which are dropped whole. */
export interface RetentionClass {
  readonly longestMs: number
  readonly partitionMs: number
}

export const CLASSES: readonly RetentionClass[] = [
  // Also for feeds that are not stored: other nodes read their messages from here.
  { longestMs: 2 * MINUTE, partitionMs: MINUTE },
  { longestMs: 2 * HOUR, partitionMs: 15 * MINUTE },
  { longestMs: 2 * DAY, partitionMs: 6 * HOUR },
  { longestMs: 30 * DAY, partitionMs: 3 * DAY },
  { longestMs: Number.POSITIVE_INFINITY, partitionMs: 30 * DAY },
]

export function historyClass(historyMs: number): number {
  return CLASSES.findIndex(({ longestMs }) => historyMs <= longestMs)
}

export const TABLES: readonly string[] = [
  FEEDS,
  TOPICS,
  `create index topics_by_state on ${SCHEMA}.topics (feed, state_seq) where state_seq is not null`,
  `create index topics_removed on ${SCHEMA}.topics (feed, removed_seq) where removed_seq is not null`,
  MESSAGES,
  `create index messages_by_seq on ${SCHEMA}.messages (feed, seq)`,
  `create index messages_by_topic on ${SCHEMA}.messages (feed, topic, n, seq)`,
  ...CLASSES.map(
    (_class, index) =>
      `create table ${SCHEMA}.m${index} partition of ${SCHEMA}.messages for values in (${index}) partition by range (time)`,
  ),
  REQUESTS,
  `create index requests_by_time on ${SCHEMA}.requests (feed, time)`,
  MARKS,
]
