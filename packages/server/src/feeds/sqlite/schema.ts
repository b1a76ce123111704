/** The tables of feeds.db, the file of the messages of feeds in the data folder. */
import { randomBytes } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import Sqlite, { type Database } from 'better-sqlite3'

export const FEEDS_FILE = 'feeds.db'

const BUSY_MS = 5_000
/** Of the tables below. */
const VERSION = 2

/**
 * `last` is the number of the newest message. `trimmed` is the highest number that was removed from a topic's history, `forgotten` that of
 * topics that have no row any more. `name`, and `feed` of a request, is the generation of the feed. A message without data removes its topic, whose row stays for a while. `rules` are those of the newest
 * definition, as JSON: a publisher, or another worker, may not know it yet.
 */
const TABLES = `
  create table feeds (id integer primary key, name text not null unique, epoch text not null, last integer not null,
    time integer not null, forgotten integer not null, topics integer not null, bytes integer not null, rules text);
  create table topics (id integer primary key, feed integer not null, topic text not null, seq integer not null,
    time integer not null, removed integer not null, data text, messages integer not null, trimmed integer not null,
    unique (feed, topic));
  create index topics_by_seq on topics (feed, removed, seq);
  create table messages (feed integer not null, seq integer not null, topic integer not null, time integer not null,
    data text, primary key (feed, seq)) without rowid;
  create index messages_by_topic on messages (topic, seq);
  create table requests (feed text not null, owner text not null, key text not null, fingerprint text not null, seq integer not null,
    time integer not null, primary key (feed, owner, key)) without rowid;
  create index requests_by_time on requests (time);
`

/**
 * For readers with a delay, and empty without. What they see of a feed is a row of feeds too, with topics and messages: `delayed` has what
 * is its source. `held` are the messages of a source that some of them have not seen yet; `bytes` of held_feeds is their size, `trimmed`
 * the highest number that was removed. `declared` is when a node said last that the delay is needed. Earlier versions leave them alone.
 */
const DELAYED_TABLES = `
  create table if not exists delayed (feed integer primary key, source integer not null, delay integer not null, declared integer not null,
    unique (source, delay));
  create table if not exists held_feeds (feed integer primary key, bytes integer not null, trimmed integer not null);
  create table if not exists held (feed integer not null, seq integer not null, topic text not null, time integer not null, data text,
    primary key (feed, seq)) without rowid;
`

/** For the one that writes, which creates the file. */
export function openForWriting(file: string): Database {
  // Created here with mode 600, because SQLite would make it readable for all users; its journals inherit the mode.
  closeSync(openSync(file, 'a', 0o600))
  const database = new Sqlite(file)
  database.pragma('journal_mode = wal')
  // An acknowledged commit survives a power failure.
  database.pragma('synchronous = full')
  database.pragma(`busy_timeout = ${BUSY_MS}`)
  database.transaction(() => createTables(database)).immediate()
  return database
}

/** Of a file that exists. */
export function openForReading(file: string): Database {
  const database = new Sqlite(file, { readonly: true })
  database.pragma(`busy_timeout = ${BUSY_MS}`)
  return database
}

function createTables(database: Database): void {
  const version = Number(database.pragma('user_version', { simple: true }))
  if (version > VERSION)
    throw new Error(`${FEEDS_FILE} was written by a newer version of gatehouse: start that one, or restore a backup`)
  if (version === 0) database.exec(TABLES)
  if (version === 1) database.exec('alter table feeds add column rules text')
  database.exec(DELAYED_TABLES)
  database.pragma(`user_version = ${VERSION}`)
}

/** Visible in positions. */
export function newEpoch(): string {
  return randomBytes(6).toString('hex')
}
