/** The jobs of the Helm chart for migrations and backups, which have an empty data folder each time. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { runGatehouse } from '../support/process.ts'

let folder: string
let database: { url: string; drop(): Promise<void> }
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-jobs-'))
  database = await createPostgresDatabase()
})
after(async () => {
  await database.drop()
  await stopOwnPostgres()
  await rm(folder, { recursive: true, force: true })
})

test('migrations and backups on PostgreSQL need nothing but the database and the master key', async () => {
  const masterKey = randomBytes(32).toString('base64')
  const run = async (...args: string[]) => {
    const environment = {
      GATEHOUSE_DATABASE_URL: database.url,
      GATEHOUSE_MASTER_KEY: masterKey,
      GATEHOUSE_DATA: await mkdtemp(join(folder, 'data-')),
    }
    return runGatehouse(args, { environment })
  }
  assert.match((await run('migrate', '--create')).stdout, /was created with schema/)
  assert.match((await run('migrate', '--create')).stdout, /no migration is pending/)
  const { status, stdout, stderr } = await run('backup', join(folder, 'backups', 'first'), '--keep', '1')
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^Backed up /)
})
