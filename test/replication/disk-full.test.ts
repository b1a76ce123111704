/** Disks that are full: that of the spool, and that of a restore. As file systems in memory, which needs root on Linux. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { readStatus } from '../../packages/server/src/replication/spool/status.ts'
import { CredentialSource } from '../../packages/server/src/replication/target/credentials.ts'
import { parseBucketUrl, S3Target } from '../../packages/server/src/replication/target/s3.ts'
import { runGatehouse } from '../support/process.ts'
import {
  DATABASE_FILES,
  endWriters,
  replicationOptions,
  restoreDatabases,
  startWriters,
} from '../support/replicated-folder.ts'
import { type S3Server, startS3 } from '../support/s3-server.ts'
import { STORED_KEY, storeBackup } from '../support/stored-backup.ts'
import { until } from '../support/until.ts'

const ENVIRONMENT = { AWS_ACCESS_KEY_ID: 'AKTEST', AWS_SECRET_ACCESS_KEY: 'secret/of+test' }
const skip = process.getuid?.() === 0 && canMount() ? false : 'needs root on Linux, to mount'

let scratch: string
let s3: S3Server
const mounted: string[] = []
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-full-'))
  s3 = await startS3()
})
afterEach(endWriters)
after(async () => {
  await s3.close()
  for (const folder of mounted) execFileSync('umount', ['-l', folder])
  await rm(scratch, { recursive: true, force: true })
})

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-m', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

async function mountSmall(folder: string, size: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'none', folder])
  mounted.push(folder)
}

test('the disk of the spool is full: writers go on, and once the target is back the copy is complete again', {
  skip,
}, async () => {
  const dataFolder = join(scratch, 'data')
  const spool = join(dataFolder, 'replication')
  await mountSmall(spool, '6m')
  const writers = startWriters(replicationOptions(dataFolder, s3.url), { env: ENVIRONMENT, count: 1 })
  await writers.logged('a base of the backup is stored')
  s3.answer = () => 'away'
  // What something else writes there.
  const { bavail, bsize } = await statfs(spool)
  await writeFile(join(spool, 'ballast'), Buffer.alloc(bavail * bsize - 300_000))
  await writers.logged('changes are no longer kept')
  assert.ok(writers.log.some((line) => /the spool cannot be written/.test(line)))
  const before = writers.acknowledged.length
  await until('writers go on', 30_000, () => writers.acknowledged.length > before + 50)
  assert.equal(writers.log.filter((line) => line.includes('changes are no longer kept')).length, 1)
  s3.answer = () => undefined
  await until('the spool is empty', 60_000, async () =>
    (await readdir(spool)).every((name) => !name.endsWith('.object')),
  )
  await rm(join(spool, 'ballast'))
  await writers.logged('changes are kept for the backup again')
  await until('everything is stored', 60_000, () => {
    const { at = 0, moment = 0 } = readStatus(dataFolder) ?? {}
    return moment > (writers.acknowledged.at(-100)?.[1] ?? 0) && at - moment < 5_000
  })
  await writers.stop()
  const target = new S3Target(parseBucketUrl(s3.url, {}), new CredentialSource(ENVIRONMENT))
  await restoreDatabases(target, join(scratch, 'restored'))
  for (const file of DATABASE_FILES)
    assert.ok((await readFile(join(dataFolder, file))).equals(await readFile(join(scratch, 'restored', file))), file)
  assert.equal((await target.folders()).length, 1, 'one generation')
  target.close()
})

test('a restore onto a disk that is too small says so, and leaves nothing', { skip }, async () => {
  const { source } = await storeBackup(scratch)
  const folder = join(scratch, 'small')
  await mountSmall(folder, '256k')
  const words = ['--data', folder, '--backup-key', STORED_KEY.toString('base64')]
  const restored = await runGatehouse(['restore', `file://${source}`, ...words])
  assert.equal(restored.status, 1)
  assert.match(restored.stderr, /^gatehouse: The disk is full: free some space\n$/)
  assert.deepEqual(await readdir(folder), [])
})
