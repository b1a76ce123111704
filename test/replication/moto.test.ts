/** Replication to a server with the API of S3 that others wrote. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CredentialSource } from '../../packages/server/src/replication/target/credentials.ts'
import { parseBucketUrl, S3Target } from '../../packages/server/src/replication/target/s3.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { findMoto, startMoto } from '../support/moto.ts'
import {
  DATABASE_FILES,
  endWriters,
  replicationOptions,
  restoreDatabases,
  startWriters,
} from '../support/replicated-folder.ts'

const ENVIRONMENT = { AWS_ACCESS_KEY_ID: 'AKTEST', AWS_SECRET_ACCESS_KEY: 'secret' }

test('moto: every commit is stored and restored, and a name is stored once', IN_LONG_RUNS, async (t) => {
  const found = await findMoto()
  if (typeof found === 'string') return t.skip(found)
  const moto = await startMoto(found.program)
  t.after(() => moto.close())
  const scratch = await mkdtemp(join(tmpdir(), 'gatehouse-moto-'))
  t.after(() => rm(scratch, { recursive: true, force: true }))
  const dataFolder = join(scratch, 'data')
  await mkdir(dataFolder)
  const timing = { periods: [1_000, 3_000], mergeEveryMs: 200 } as const
  t.after(endWriters)
  const writers = startWriters(replicationOptions(dataFolder, moto.url, { fullMs: 3_000, timing }), {
    env: ENVIRONMENT,
  })
  await writers.logged('a base of the backup is stored')
  await new Promise((resolve) => setTimeout(resolve, 5_000))
  await writers.stop()
  const target = new S3Target(parseBucketUrl(moto.url, {}), new CredentialSource(ENVIRONMENT))
  await restoreDatabases(target, join(scratch, 'restored'))
  for (const file of DATABASE_FILES)
    assert.ok((await readFile(join(dataFolder, file))).equals(await readFile(join(scratch, 'restored', file))), file)
  const { signal } = new AbortController()
  assert.equal(await target.put('once', Buffer.from('1'), signal), true)
  assert.equal(await target.put('once', Buffer.from('2'), signal), false)
  assert.equal((await target.get('once'))?.toString(), '1')
  target.close()
})
