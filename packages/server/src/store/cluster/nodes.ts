/** The registry of nodes on one database: which of them must not serve at the same time, and the replies to calls that go to all of them. */
import { hostname } from 'node:os'
import { type Clock, Refusal } from 'gatehouse-protocol'
import { currentVersion, type Database, type Engine } from '../database/database.ts'
import { MIGRATIONS } from '../database/migrations.ts'

export interface ClusterNode {
  /** Random, and new at every start. */
  readonly id: string
  /** For people: see `nodeName`. */
  readonly name: string
}

export interface ServingNode extends ClusterNode {
  readonly issuer: string
  readonly startedAt: number
}

/** Host and process. */
export function nodeName(pid = process.pid): string {
  return `${hostname()}:${pid}`
}

export type Nodes = ReturnType<typeof createNodes>

/** A node without a heartbeat for this long is considered dead. On SQLite heartbeats are rare, so that an idle disk can sleep. */
const EXPIRES_AFTER_MS: Readonly<Record<Engine, number>> = { postgres: 20_000, sqlite: 3_600_000 }
/** For replies that the caller did not delete. */
const REPLY_KEPT_MS = 60_000

export function createNodes({ db, engine }: Pick<Database, 'db' | 'engine'>, clock: Clock) {
  /** Other nodes that serve. A process of this machine that has ended does not; others do until their heartbeats are missing. */
  async function running() {
    const oldest = clock() - EXPIRES_AFTER_MS[engine]
    const known = await db.selectFrom('nodes').selectAll().where('issuer', '!=', '').orderBy('started_at').execute()
    return known.filter(
      ({ name, seen_at }) =>
        isRunning(name) || (engine === 'postgres' && !name.startsWith(`${hostname()}:`) && seen_at > oldest),
    )
  }

  return {
    heartbeatMs: EXPIRES_AFTER_MS[engine] / 4,

    /** Removes the named node, which is known to be dead. On SQLite, whose nodes are processes of this machine, also removes all that were killed. */
    async removeDead(name?: string): Promise<void> {
      if (name !== undefined) await db.deleteFrom('nodes').where('name', '=', name).execute()
      if (engine !== 'sqlite') return
      const known = await db.selectFrom('nodes').select(['id', 'name']).execute()
      const dead = known.filter(({ name }) => !isRunning(name)).map(({ id }) => id)
      if (dead.length > 0) await db.deleteFrom('nodes').where('id', 'in', dead).execute()
    },

    async heartbeat({ id, name, issuer, startedAt }: ServingNode): Promise<void> {
      await db
        .insertInto('nodes')
        .values({ id, name, issuer, started_at: startedAt, seen_at: clock(), schema_version: MIGRATIONS.length })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: clock() }))
        .execute()
    },

    /** Why a node must not serve the database, if so. Of nodes with different issuers the first may. */
    async findConflict({ id, issuer, startedAt }: ServingNode): Promise<string | undefined> {
      const version = await currentVersion(db)
      if (version > MIGRATIONS.length)
        return `a newer version of gatehouse has migrated the database to schema ${version}, and this one knows ${MIGRATIONS.length}`
      const other = (await running()).find(
        (node) =>
          node.issuer !== issuer && (node.started_at < startedAt || (node.started_at === startedAt && node.id < id)),
      )
      return (
        other &&
        `the node ${other.name} serves the database with the issuer ${other.issuer}, and this one has ${issuer}`
      )
    },

    running,

    /** The names of running nodes that do not know the whole schema of this program: an upgrade is under way. */
    async older(): Promise<string[]> {
      return (await running()).filter((node) => node.schema_version < MIGRATIONS.length).map(({ name }) => name)
    },

    /** The process ids of the nodes on this machine. */
    async localProcesses(): Promise<number[]> {
      const local = (await running()).filter(({ name }) => isRunning(name))
      return local.map(({ name }) => Number(name.slice(name.lastIndexOf(':') + 1)))
    },

    async remove(id: string): Promise<void> {
      await db.deleteFrom('nodes').where('id', '=', id).execute()
    },

    list(): Promise<ClusterNode[]> {
      return db
        .selectFrom('nodes')
        .select(['id', 'name'])
        .where('seen_at', '>', clock() - EXPIRES_AFTER_MS[engine])
        .orderBy('name')
        .execute()
    },

    async reply(callId: string, node: string, body: string): Promise<void> {
      await db
        .insertInto('node_answers')
        .values({ question: callId, node, body, expires_at: clock() + REPLY_KEPT_MS })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },

    /** The body of each reply, by node id. */
    async repliesTo(callId: string): Promise<Map<string, string>> {
      const rows = await db.selectFrom('node_answers').select(['node', 'body']).where('question', '=', callId).execute()
      return new Map(rows.map(({ node, body }) => [node, body]))
    },

    async deleteReplies(callId: string): Promise<void> {
      await db.deleteFrom('node_answers').where('question', '=', callId).execute()
    },
  }
}

/** Refuses what nodes of an earlier version, which still run, would not respect. */
export function upgradePending(older: readonly string[]): Refusal {
  const text = `Nodes of an earlier version do not know this yet: first upgrade ${older.join(', ')}`
  return new Refusal('Upgrade.Pending', 409, text)
}

/** Whether another process of this machine has this name. A row with our pid is from an earlier process. */
export function isRunning(name: string): boolean {
  const pid = Number(name.slice(name.lastIndexOf(':') + 1))
  if (name !== `${hostname()}:${pid}` || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
