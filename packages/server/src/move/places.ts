/** The two places of a move: that no server runs on them, and that the target can hold the data. */
import { stat } from 'node:fs/promises'
import { createNodes } from '../store/cluster/nodes.ts'
import { lockStart, type Unlock } from '../store/cluster/start-lock.ts'
import { type DataLocation, openUnmigrated, POSTGRES_SCHEMA } from '../store/database/database.ts'
import { schemaVersion } from '../store/database/migration-plan.ts'
import { MIGRATIONS } from '../store/database/migrations.ts'
import { checkPrivileges } from '../store/database/privileges.ts'
import { withoutCredentials } from '../store/database/servers/addresses.ts'
import { withConnection } from '../store/database/servers/one-connection.ts'
import { MoveRefused } from './table.ts'

/** The data folder of SQLite, or the URL of PostgreSQL without credentials. */
export function nameOfPlace({ dataFolder, url }: DataLocation): string {
  return url === '' ? dataFolder : withoutCredentials(url)
}

/** As long as both are locked, no server starts on either of them, nor does another move. */
export async function lockPlaces(from: DataLocation, to: DataLocation, onWait: () => void): Promise<Unlock> {
  if ((from.url === '') === (to.url === ''))
    throw new MoveRefused(
      `${nameOfPlace(from)} and ${nameOfPlace(to)} are both ${from.url === '' ? 'SQLite' : 'PostgreSQL'}: a move goes from one to the other. Use "gatehouse backup" and "gatehouse restore" instead.`,
    )
  const unlockSource = await lockStart({ ...from, onWait })
  try {
    const unlockTarget = await lockStart({ ...to, onWait })
    return async () => {
      await unlockTarget()
      await unlockSource()
    }
  } catch (error) {
    await unlockSource()
    throw error
  }
}

/** Writes nothing. */
export async function checkPlaces(from: DataLocation, to: DataLocation): Promise<void> {
  await checkSource(from)
  if (to.url === '') return checkFolder(to.dataFolder)
  const { POSTGRES_STORAGE } = await import('../query/storage.ts')
  await POSTGRES_STORAGE.check(to)
  await withConnection(to, { application_name: 'gatehouse move' }, (client) =>
    checkPrivileges(async (statement, schema) => (await client.query(statement, [schema])).rows, POSTGRES_SCHEMA),
  )
}

/** A user who can write to a folder can replace the files in it, including the master key. */
async function checkFolder(folder: string): Promise<void> {
  const mode = await stat(folder).then(
    (found) => found.mode & 0o7777,
    () => 0,
  )
  if ((mode & 0o002) !== 0)
    throw new MoveRefused(
      `Everyone on this machine can write to ${folder} (mode ${mode.toString(8)}): run "chmod 700 ${folder}", or name another folder with --to. Nothing was copied.`,
    )
}

async function checkSource(from: DataLocation): Promise<void> {
  const database = openUnmigrated({ ...from, poolSize: 1 })
  try {
    const version = await schemaVersion(database)
    if (version !== MIGRATIONS.length)
      throw new MoveRefused(
        `The database ${database.location} has schema ${version}, and this version uses ${MIGRATIONS.length}: start the server once, or run "gatehouse migrate", before you move it.`,
      )
    const [node] = await createNodes(database, Date.now).running()
    if (node !== undefined)
      throw new MoveRefused(
        `A server (${node.name}) runs on ${database.location}: stop it before you move the data.${from.url === '' ? '' : ' One that was killed on another machine counts for 20 more seconds.'}`,
      )
  } finally {
    await database.close()
  }
}
