/** What a server has sent to a folder: a base, and some segments. For tests that change it. */
import { mkdtemp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { startTestServer } from './server.ts'
import { until } from './until.ts'

export const STORED_KEY = Buffer.alloc(32, 9)

/** In identity.db: a restore of it cannot be recorded, as on a disk that is full. */
export const REFUSING_RECORD = `create trigger refusing_record before insert on audit_log when new.event = 'backup.restored'
  begin select raise(abort, 'there is no room'); end`

export interface StoredBackup {
  readonly source: string
  readonly generation: string
}

export async function storeBackup(scratch: string): Promise<StoredBackup> {
  const [source, dataFolder] = [join(scratch, 'source'), await mkdtemp(join(scratch, 'data-'))]
  const generation = await addToBackup(source, dataFolder)
  return { source, generation }
}

/** Runs a server on the data folder until it has sent some segments more. */
export async function addToBackup(source: string, dataFolder: string): Promise<string> {
  const flags = {
    '--backup-url': `file://${source}`,
    '--backup-key': STORED_KEY.toString('base64'),
    '--backup-every': '0.2',
  }
  const before = await countSegments(source)
  const server = await startTestServer({ engine: 'sqlite', dataFolder, databaseUrl: '' }, { flags, isFirstStart: true })
  try {
    await until('a base is stored', 30_000, async () => (await listFiles(source)).some(isManifest))
    const database = await openDatabase({ dataFolder, url: '' })
    const stamp = Date.now()
    let role = 0
    await until('there are segments', 30_000, async () => {
      const name = `role-${stamp}-${++role}`
      await database.db
        .insertInto('roles')
        .values({ name, scopes: '[]', description: '', require_second_factor: 0 })
        .execute()
      return (await countSegments(source)) > before + 4
    })
    await database.close()
  } finally {
    await server.stop()
  }
  const [generation = ''] = await readdir(source)
  return generation
}

async function countSegments(source: string): Promise<number> {
  const names = await listFiles(source)
  return names.filter((name) => name.includes(join('segments', '0', ''))).length
}

/** None before there is anything. */
async function listFiles(source: string): Promise<readonly string[]> {
  return readdir(source, { recursive: true }).catch(() => [])
}

function isManifest(name: string): boolean {
  return name.endsWith('manifest')
}
