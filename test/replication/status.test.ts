/** What commands beside a server say of its replication, also where only the server has the settings. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ReplicationStatus, readStatus } from '../../packages/server/src/replication/spool/status.ts'
import { onEveryEngine } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { startTestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const KEY = Buffer.alloc(32, 9).toString('base64')

let scratch: string
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-status-'))
})
after(() => rm(scratch, { recursive: true, force: true }))

onEveryEngine('the status of a replication', (place, engine) => {
  test('backups status, take and doctor know what the server replicates by its flags', async (t) => {
    const { dataFolder, databaseUrl } = place()
    const where = ['--data', dataFolder, ...(databaseUrl === '' ? [] : ['--database-url', databaseUrl])]
    const run = (words: readonly string[]) => runInProcess([...words, ...where])
    const findings = async (): Promise<readonly { code: string; message: string }[]> =>
      JSON.parse((await run(['doctor', '--json'])).stdout).findings
    const backupFindings = async () =>
      (await findings()).map(({ code }) => code).filter((code) => /^backup|archive/.test(code))
    const archiving = engine === 'postgres' ? ['database.not_archived'] : []

    const flags = { '--backup-url': `file://${join(scratch, engine)}`, '--backup-key': KEY }
    const server = await startTestServer(place(), { flags })
    let stopping: Promise<void> | undefined
    const stop = () => (stopping ??= server.stop())
    t.after(stop)
    await until('something can be restored', 60_000, () => readStatus(dataFolder)?.moment !== undefined)
    const status = await run(['backups', 'status', '--json'])
    assert.equal(JSON.parse(status.stdout).location, flags['--backup-url'], status.stderr)
    assert.deepEqual(await backupFindings(), [...archiving, 'backup'])
    const first = readStatus(dataFolder)?.base?.at ?? Date.now()
    const taken = await run(['backups', 'take'])
    assert.equal(taken.status, 0, taken.stderr)
    await until('all pages are sent again', 60_000, () => (readStatus(dataFolder)?.base?.at ?? 0) > first)

    await stop()
    assert.equal(readStatus(dataFolder)?.isStopped, true)
    assert.match((await run(['backups', 'status'])).stdout, /Nothing is replicated/)
    assert.equal((await run(['backups', 'take'])).status, 1)
    assert.deepEqual(await backupFindings(), [])

    // As kill -9 of everything leaves it.
    const left: ReplicationStatus = JSON.parse(JSON.stringify({ ...readStatus(dataFolder), isStopped: undefined }))
    await writeFile(
      join(dataFolder, 'replication', 'status.json'),
      JSON.stringify({ ...left, at: Date.now() - 100_000, behindSince: undefined }),
    )
    assert.deepEqual(await backupFindings(), [...archiving, 'backup.silent'])
    assert.ok(JSON.parse((await run(['backups', 'status', '--json'])).stdout).lag_seconds >= 100)
  })
})
