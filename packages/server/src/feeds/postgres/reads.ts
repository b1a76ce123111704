/** The statements that read a feed: pages after a number, the last messages, topics, and what followers have not seen yet. */
import type { Feed, TopicChoice } from '../feed.ts'
import { isStored } from '../feed.ts'
import { DATABASE_TIME } from './append-function.ts'
import { KIND, SCHEMA } from './tables.ts'

export interface ReadStatement {
  readonly sql: string
  readonly values: readonly (string | number | null | readonly string[])[]
}

/** The columns of a feed's row that every read returns; `now` is the time of the read. */
export interface HeaderRow {
  readonly lastSeq: number
  readonly lastTime: number
  readonly epoch: string
  readonly purges: number
}

export interface MessageRow {
  readonly seq: number
  readonly time: number
  readonly topic: string
  readonly data: string | null
}

/** Where nothing was found there is one row without a message. */
export type PageRow = HeaderRow & {
  readonly hasGap?: boolean
  /** How many there are within the limit: more than in the page, if it was cut because of its bytes. */
  readonly found: number | null
} & { readonly [Name in keyof MessageRow]: MessageRow[Name] | null }

/** Of the data in one page, except for its first message. */
const MOST_BYTES = 4 << 20
/** Messages that have expired, and that the sweep has not seen yet: more than it leaves in a second. */
const MOST_UNSWEPT = 20_000

export function storageKind({ keep, history }: Pick<Feed, 'keep' | 'history'>): number {
  return !isStored({ keep, history }) ? KIND.notStored : history === undefined ? KIND.states : KIND.history
}

const HEADER = `f.last_seq as "lastSeq", f.last_time as "lastTime", f.epoch, f.purges`
/** $1 is the feed, $2 the time. What delayed readers see expires when it is that old for them. */
const FEED = `f as materialized (
  select *, greatest(coalesce($2::bigint, ${DATABASE_TIME}) - delay, last_time) as now from ${SCHEMA}.feeds where id = $1)`
const DELAYED_FEED = `f as materialized (
  select d.*, s.class as source_class, s.purged_seq as source_purged_seq
  from ${SCHEMA}.feeds d join ${SCHEMA}.feeds s on s.id = d.source where d.id = $1 and $2::bigint is null)`

/** $1 is the list of feeds. */
export const HEADERS = `select f.id, ${HEADER} from ${SCHEMA}.feeds f where f.id = any ($1::integer[])`

/** The values of the choice follow those of the statement. */
class Values {
  readonly list: (string | number | null | readonly string[])[]

  constructor(...first: (string | number | null)[]) {
    this.list = first
  }

  add(value: string | readonly string[]): string {
    this.list.push(value)
    return `$${this.list.length}`
  }

  /** A condition for the column. */
  choose(column: string, choice: TopicChoice): string {
    if (choice.kind === 'topic') return `${column} = ${this.add(choice.topic)}`
    if (choice.prefix === '') return 'true'
    const end = prefixEnd(choice.prefix)
    const isBefore = end === undefined ? '' : ` and ${column} < ${this.add(end)}`
    return `${column} >= ${this.add(choice.prefix)}${isBefore}`
  }
}

/** The first text after all that begin with the prefix, by code points; undefined if there is none. */
export function prefixEnd(prefix: string): string | undefined {
  const codes = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  while (codes.at(-1) === 0x10ffff) codes.pop()
  const last = codes.pop()
  if (last === undefined) return undefined
  // Surrogates are no characters.
  return String.fromCodePoint(...codes, last === 0xd7ff ? 0xe000 : last + 1)
}

/** Pages are cut where they become too long to hold. */
function page(source: string, order: 'asc' | 'desc', gap: string): string {
  return `select ${HEADER}${gap === '' ? '' : ', g.has_gap as "hasGap"'}, p.seq, p.time, p.topic, p.data, p.found
    from f ${gap === '' ? '' : `cross join (${gap}) g`} left join lateral (
      select m.*, count(*) over () as found, coalesce(sum(octet_length(m.data)) over (order by m.seq ${order} rows between unbounded preceding and 1 preceding), 0) as before
      from (${source}) m
    ) p on p.before < ${MOST_BYTES} order by p.seq ${order}`
}

const IN_TIME = 'm.time > f.now - f.history_time'
const STATE_IN_TIME = '(f.state_time is null or t.last_time > f.now - f.state_time)'
const STATE = 't.last_seq as seq, t.last_time as time, t.topic, t.data'
/** With LIMIT the topic is found by its index, whatever PostgreSQL believes about the size of the tables. */
const TOPIC_OF_MESSAGE = `join lateral (
  select * from ${SCHEMA}.topics t where t.feed = $1 and t.topic = m.topic limit 1) t on m.n > t.trimmed_n`
const KEPT = `${SCHEMA}.messages m ${TOPIC_OF_MESSAGE}`
/** Of one topic: its messages after the trimmed ones, by the index on their count. */
const KEPT_OF_TOPIC = `${SCHEMA}.topics t join ${SCHEMA}.messages m on m.topic = t.topic and m.n > t.trimmed_n`

function keptTables({ kind }: TopicChoice): string {
  return kind === 'topic' ? `${KEPT_OF_TOPIC} and t.feed = $1` : KEPT
}

/** In one topic both are the same order. */
function orderColumn({ kind }: TopicChoice): string {
  return kind === 'topic' ? 'm.n' : 'm.seq'
}

export function readHistory(
  feed: Feed,
  id: number,
  now: number | null,
  choice: TopicChoice,
  after: number,
  limit: number,
): ReadStatement {
  const values = new Values(id, now, after, limit)
  const isChosen = values.choose('t.topic', choice)
  const states = (isDue: string): string =>
    `select ${STATE} from ${SCHEMA}.topics t where t.feed = $1 and t.state_seq > $3 and ${isDue} and ${isChosen} order by t.state_seq limit $4`
  const messages = `select m.seq, m.time, m.topic, m.data from ${keptTables(choice)}
    where m.feed = $1 and m.class = f.class and m.seq > $3 and ${IN_TIME} and ${isChosen} order by ${orderColumn(choice)} limit $4`
  // A state stays when its message is too old for the history.
  const old = states(`t.is_live and t.last_time <= f.now - f.history_time and ${STATE_IN_TIME}`)
  const source =
    storageKind(feed) === KIND.states
      ? states(`(not t.is_live and $3 > 0 or t.is_live and ${STATE_IN_TIME})`)
      : feed.keep === 'all'
        ? messages
        : `select * from ((${messages}) union all (${old})) both_kinds order by seq limit $4`
  return { sql: `with ${FEED} ${page(source, 'asc', gapCondition(feed, choice, isChosen))}`, values: values.list }
}

/** Whether a message after $3 was removed, also by a bound of time that the sweep has not applied yet. */
function gapCondition(feed: Feed, choice: TopicChoice, isChosen: string): string {
  const isOld = 'm.time <= f.now - f.history_time'
  const isNoState = feed.keep === 'latest' ? 'm.n < t.last_n' : 'true'
  const hasHistory = storageKind(feed) === KIND.history
  if (choice.kind === 'topic') {
    const expired = `coalesce((select ${isOld} and ${isNoState} from ${SCHEMA}.messages m where m.feed = $1 and m.class = f.class
      and m.topic = t.topic and m.n > t.trimmed_n and m.seq > $3 order by m.n limit 1), false)`
    return `select coalesce((select t.trimmed_seq > $3 or ${hasHistory ? expired : 'false'}
      from f, ${SCHEMA}.topics t where t.feed = $1 and ${isChosen}), (select forgotten_seq > $3 from f)) as has_gap`
  }
  const unswept = `from ${SCHEMA}.messages m where m.feed = $1 and m.class = f.class and m.seq > greatest($3, f.swept_seq) order by m.seq`
  const expired = `case when coalesce((select ${isOld} ${unswept} limit 1), false) then exists (
      select from (select m.* ${unswept} limit ${MOST_UNSWEPT}) m ${TOPIC_OF_MESSAGE}
      where ${isOld} and ${isNoState} and ${isChosen}) else false end`
  const trimmed =
    choice.prefix === ''
      ? 'true'
      : `(f.forgotten_seq > $3 or exists (select from ${SCHEMA}.topics t where t.feed = $1 and ${isChosen} and t.trimmed_seq > $3))`
  return `select (f.trimmed_seq > $3 and ${trimmed}) or ${hasHistory ? expired : 'false'} as has_gap from f`
}

/** The newest message of each topic; of topics that were removed only where the reader may have seen something before. */
export function readNewest(
  feed: Feed,
  id: number,
  now: number | null,
  choice: TopicChoice,
  after: number,
  limit: number,
): ReadStatement {
  const values = new Values(id, now, after, limit)
  const isChosen = values.choose('t.topic', choice)
  const isInTime = feed.keep === 'latest' ? STATE_IN_TIME : 't.last_time > f.now - f.history_time'
  const isShown = `(not t.is_live and $3 > 0 or t.is_live and ${isInTime})`
  const gap = gapCondition(feed, choice, isChosen)
  // With `all` the numbers of topics have no index: publishing is faster without it.
  const seq = feed.keep === 'latest' ? 't.state_seq' : 't.last_seq'
  const topics = `select t.* from ${SCHEMA}.topics t where t.feed = $1 and ${seq} > $3 and ${isShown} and ${isChosen} order by ${seq} limit $4`
  const source = feed.keep === 'latest' ? `select ${STATE} from (${topics}) t` : withData(topics)
  return { sql: `with ${FEED} ${page(source, 'asc', gap)}`, values: values.list }
}

/** With `all` the newest message is in the history only. */
function withData(topics: string): string {
  return `select t.last_seq as seq, t.last_time as time, t.topic, m.data from (${topics}) t
    left join ${SCHEMA}.messages m on m.feed = $1 and m.class = f.class and m.seq = t.last_seq`
}

export function readLast(
  feed: Feed,
  id: number,
  now: number | null,
  choice: TopicChoice,
  count: number,
): ReadStatement {
  const values = new Values(id, now, count)
  const isChosen = values.choose('t.topic', choice)
  const states = (isDue: string): string =>
    `select ${STATE} from ${SCHEMA}.topics t where t.feed = $1 and t.is_live and t.state_seq is not null and ${STATE_IN_TIME} and ${isDue} and ${isChosen}
     order by t.state_seq desc limit $3`
  const messages = `select m.seq, m.time, m.topic, m.data from ${keptTables(choice)} and m.n > t.removed_n and t.is_live
    where m.feed = $1 and m.class = f.class and ${IN_TIME} and ${isChosen} order by ${orderColumn(choice)} desc limit $3`
  const source =
    storageKind(feed) === KIND.states
      ? states('true')
      : feed.keep === 'all'
        ? messages
        : `select * from ((${messages}) union all (${states('t.last_time <= f.now - f.history_time')})) both_kinds order by seq desc limit $3`
  return { sql: `with ${FEED} ${page(source, 'desc', '')}`, values: values.list }
}

export function readTopics(
  feed: Feed,
  id: number,
  now: number | null,
  { prefix, after, limit }: { readonly prefix: string; readonly after: string | undefined; readonly limit: number },
): ReadStatement {
  const values = new Values(id, now, limit)
  const isChosen = values.choose('t.topic', { kind: 'prefix', prefix })
  const isAfter = after === undefined ? 'true' : `t.topic > ${values.add(after)}`
  const isInTime = feed.keep === 'latest' ? STATE_IN_TIME : 't.last_time > f.now - f.history_time'
  const sql = `with ${FEED} select t.topic, t.last_time as time, t.last_n - greatest(t.trimmed_n, t.removed_n) as messages
    from f, ${SCHEMA}.topics t where t.feed = $1 and t.is_live and ${isInTime} and ${isChosen} and ${isAfter} order by t.topic limit $3`
  return { sql, values: values.list }
}

/** More topics than these are not sent to the database: everything is read. */
const MOST_TOPICS = 2000

/**
 * What a follower has not seen yet. Of a feed with states alone only the newest message of each topic is there; for delayed readers all
 * messages are.
 */
export function readNews(
  feed: Feed,
  { id, isDelayed }: { readonly id: number; readonly isDelayed: boolean },
  { through, throughTime }: { readonly through: number; readonly throughTime: number },
  wanted: { readonly topics: ReadonlySet<string>; readonly prefixes: ReadonlySet<string> },
  limit: number,
): ReadStatement {
  const values = new Values(id, null, through, limit)
  const wants = (column: string): string => {
    if (wanted.prefixes.has('') || wanted.topics.size > MOST_TOPICS) return 'true'
    const topics = `${column} = any (${values.add([...wanted.topics])}::text[])`
    return wanted.prefixes.size === 0
      ? topics
      : `(${topics} or ${column} ^@ any (${values.add([...wanted.prefixes])}::text[]))`
  }
  // Times do not go back: older partitions are not searched.
  values.list.push(throughTime)
  const held =
    (): string => `select m.seq, m.time, m.topic, m.data from ${SCHEMA}.messages m where m.feed = f.source and m.class = f.source_class
    and m.seq > $3 and m.seq <= f.last_seq and m.seq > f.source_purged_seq and m.time >= $5 and ${wants('m.topic')} order by m.seq limit $4`
  if (isDelayed) return { sql: `with ${DELAYED_FEED} ${page(held(), 'asc', '')}`, values: values.list }
  const source =
    storageKind(feed) === KIND.states
      ? `select ${STATE} from ${SCHEMA}.topics t where t.feed = $1 and t.state_seq > $3 and t.last_time >= $5 and ${wants('t.topic')}
         order by t.state_seq limit $4`
      : `select m.seq, m.time, m.topic, m.data from ${SCHEMA}.messages m
         where m.feed = $1 and m.class = f.class and m.seq > $3 and m.seq > f.purged_seq and m.time >= $5 and ${wants('m.topic')} order by m.seq limit $4`
  return { sql: `with ${FEED} ${page(source, 'asc', '')}`, values: values.list }
}
