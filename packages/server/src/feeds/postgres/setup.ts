/** Creates the schema of feeds, once for all nodes, and the partitions that come next; drops those that nobody needs any more. */
import type { ClientBase } from 'pg'
import { checkPrivileges } from '../../store/database/privileges.ts'
import { UnfitDatabase } from '../../store/database/unfit-database.ts'
import { APPEND_FUNCTION, EARLIER_APPEND_FUNCTIONS } from './append-function.ts'
import type { FeedDatabase } from './database.ts'
import { DELAYED_FUNCTIONS } from './delayed-functions.ts'
import { BEGIN_EPOCHS_FUNCTION } from './lost-writes.ts'
import { FUNCTIONS, PURGE_FUNCTION, SWEEP_FUNCTION } from './sweep-functions.ts'
import { CLASSES, DELAYED_FEEDS, KIND, PURGED_SEQ, SCHEMA, TABLES } from './tables.ts'

/**
 * The next version adds its statements to this list. Functions are named for the version that changed them, so that nodes of two versions
 * can run at once.
 */
const VERSIONS: readonly (readonly string[])[] = [[...TABLES, ...FUNCTIONS]]
/** Changes with which nodes of earlier versions can go on; the next one is added to this list. */
const ADDITIONS: readonly (readonly string[])[] = [
  [PURGED_SEQ],
  [
    ...[DELAYED_FEEDS, PURGE_FUNCTION, SWEEP_FUNCTION, BEGIN_EPOCHS_FUNCTION, APPEND_FUNCTION],
    ...EARLIER_APPEND_FUNCTIONS,
    ...DELAYED_FUNCTIONS,
  ],
]
const LOCK = `select pg_advisory_xact_lock(hashtext('${SCHEMA} setup'), 0)`

export async function prepareSchema(client: ClientBase): Promise<void> {
  await checkPrivileges(async (statement, schema) => (await client.query(statement, [schema])).rows, SCHEMA)
  await client.query('begin')
  try {
    // Creating the tables may take longer than a message.
    await client.query('set local statement_timeout = 60000; set local lock_timeout = 60000')
    await client.query(LOCK)
    await client.query(`create schema if not exists ${SCHEMA}; revoke all on schema ${SCHEMA} from public`)
    await client.query(`create table if not exists ${SCHEMA}.schema_version (version integer primary key)`)
    const { rows } = await client.query<{ version: number | null }>(
      `select max(version) as version from ${SCHEMA}.schema_version`,
    )
    const found = rows[0]?.version ?? 0
    if (found > VERSIONS.length)
      throw new UnfitDatabase(
        `The schema ${SCHEMA} has version ${found}, but this version supports up to ${VERSIONS.length}: start the newer gatehouse that wrote it, or restore a backup.`,
      )
    for (const [index, statements] of VERSIONS.entries()) {
      if (index < found) continue
      for (const statement of statements) await client.query(statement)
      await client.query(`insert into ${SCHEMA}.schema_version (version) values ($1)`, [index + 1])
    }
    await addMissing(client)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

async function addMissing(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ value: string }>(`select value from ${SCHEMA}.marks where name = 'additions'`)
  const missing = ADDITIONS.slice(Number(rows[0]?.value ?? 0))
  if (missing.length === 0) return
  for (const statement of missing.flat()) await client.query(statement)
  await client.query(
    `insert into ${SCHEMA}.marks (name, value) values ('additions', $1) on conflict (name) do update set value = excluded.value`,
    [String(ADDITIONS.length)],
  )
}

/** Partitions for messages from this time on, in milliseconds. */
export async function createPartitions(database: FeedDatabase, classIndex: number, now: number): Promise<void> {
  const { partitionMs } = classPartitions(classIndex)
  await database.write(`select ${SCHEMA}.create_partitions_1($1::smallint, $2, $3, $4)`, [
    classIndex,
    partitionMs,
    now,
    now + AHEAD * partitionMs,
  ])
}

/** The next partitions, so that no publisher has to wait for one. */
const AHEAD = 2
/** The shortest time for which messages are readable, for nodes that are behind. */
const SHORTEST_MS = 120_000

export function classPartitions(classIndex: number) {
  const found = CLASSES[classIndex]
  if (found === undefined) throw new Error(`There is no class ${classIndex}`)
  return found
}

interface ClassRow {
  readonly class: number
  readonly feeds: number
  /** The longest time for which messages are kept: for a history, or for delayed readers. */
  readonly kept: number
  /** The time of the newest message. */
  readonly last: number
}

interface PartitionRow {
  readonly name: string
  readonly number: number
}

/** Of all classes: also of feeds that were dropped. */
export async function maintainPartitions(database: FeedDatabase): Promise<void> {
  const used = await database.read<ClassRow>(
    `select c.class, count(f.id) as feeds, coalesce(max(f.history_time + f.delay + f.held_time), 0) as kept, coalesce(max(f.last_time), 0) as last
     from unnest($1::smallint[]) as c (class) left join ${SCHEMA}.feeds f on f.class = c.class group by c.class`,
    [CLASSES.map((_class, index) => index)],
  )
  const now = await database.time()
  for (const { class: classIndex, feeds, kept, last } of used) {
    const { partitionMs } = classPartitions(classIndex)
    if (feeds > 0) await createPartitions(database, classIndex, Math.max(now, last))
    const before = Math.floor((now - Math.max(kept, SHORTEST_MS) - SHORTEST_MS) / partitionMs)
    const partitions = await database.read<PartitionRow>(
      `select c.relname::text as name, split_part(c.relname, '_', 2)::bigint as number from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = to_regclass($1)`,
      [`${SCHEMA}.m${classIndex}`],
    )
    for (const { name, number } of partitions) if (number < before) await dropPartition(database, name)
  }
}

/** Not before the marks of its topics say that its messages are gone, and delayed readers have them. */
function dropPartition(database: FeedDatabase, name: string): Promise<void> {
  const needed = `select 1 from ${SCHEMA}.feeds f where f.kind = ${KIND.history}
      and exists (select from ${SCHEMA}.${name} m where m.feed = f.id and m.seq > f.swept_seq)
    union all select 1 from ${SCHEMA}.feeds d join ${SCHEMA}.feeds f on f.id = d.source
      where exists (select from ${SCHEMA}.${name} m where m.feed = f.id and m.seq > greatest(d.moved_seq, f.purged_seq)) limit 1`
  return database.dropTable(`${SCHEMA}.${name}`, needed)
}
