/** Moments under load: any can be restored, all databases are of it, also while the target is away, slow, full or not what it was. */
import assert from 'node:assert/strict'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { PageHash } from '../../packages/server/src/replication/log/page-sums.ts'
import { Catalogue } from '../../packages/server/src/replication/restore/catalogue.ts'
import { makePlan } from '../../packages/server/src/replication/restore/plan.ts'
import { writeDatabases } from '../../packages/server/src/replication/restore/restore.ts'
import { readStatus } from '../../packages/server/src/replication/spool/status.ts'
import { CredentialSource } from '../../packages/server/src/replication/target/credentials.ts'
import { FolderTarget } from '../../packages/server/src/replication/target/folder.ts'
import { parseBucketUrl, S3Target } from '../../packages/server/src/replication/target/s3.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import {
  assertOneMoment,
  BACKUP_KEY,
  DATABASE_FILES,
  endWriters,
  readNumbers,
  replicationOptions,
  restoreDatabases,
  startWriters,
  type Writers,
} from '../support/replicated-folder.ts'
import { type S3Server, startS3 } from '../support/s3-server.ts'
import { until } from '../support/until.ts'

const INSTANTS = IS_LONG_RUN ? 50 : 3
const BASE = 'a base of the backup is stored'
const ENVIRONMENT = { AWS_ACCESS_KEY_ID: 'AKTEST', AWS_SECRET_ACCESS_KEY: 'secret/of+test' }

let scratch: string
let s3: S3Server
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-moments-'))
  s3 = await startS3()
})
afterEach(() => {
  endWriters()
  s3.answer = () => undefined
  s3.delayMs = 0
})
after(async () => {
  await s3.close()
  await rm(scratch, { recursive: true, force: true })
})

async function newFolder(name: string): Promise<string> {
  const folder = join(scratch, name)
  await mkdir(folder)
  return folder
}

function openS3(): S3Target {
  return new S3Target(parseBucketUrl(s3.url, {}), new CredentialSource(ENVIRONMENT))
}

/** Until everything that was acknowledged so far is stored. */
async function shipped({ acknowledged }: Writers, dataFolder: string): Promise<void> {
  const at = acknowledged.at(-1)?.[1] ?? 0
  await until('everything is stored', 30_000, () => (readStatus(dataFolder)?.moment ?? 0) > at)
}

async function assertEqual(dataFolder: string, restored: string): Promise<void> {
  for (const file of DATABASE_FILES)
    assert.ok((await readFile(join(dataFolder, file))).equals(await readFile(join(restored, file))), file)
}

test(`${INSTANTS} instants, from a bucket with merged segments: what was acknowledged by then is there, and nothing later`, async () => {
  s3.objects.clear()
  const dataFolder = await newFolder('instants')
  // Minutes of one second, and hours of three.
  const timing = { periods: [1_000, 3_000], mergeEveryMs: 200 } as const
  const options = replicationOptions(dataFolder, s3.url, { everyMs: 200, fullMs: 6_000, timing })
  const writers = startWriters(options, { env: ENVIRONMENT, count: 1, pauseMs: 20 })
  await writers.logged(BASE)
  const start = Date.now()
  await until('segments are merged', 60_000, () => [...s3.objects.keys()].some((key) => key.includes('/segments/2/')))
  await sleep(1_000)
  const end = Date.now()
  await shipped(writers, dataFolder)
  await writers.stop()
  const target = openS3()
  for (let index = 0; index < INSTANTS; index++) {
    const at = Math.round(start + ((end - start) * index) / INSTANTS + 1)
    const restored = join(scratch, 'instant')
    const time = await restoreDatabases(target, restored, at)
    assert.ok(time <= at, `${time - at} ms later`)
    const numbers = readNumbers(restored)
    const least = writers.acknowledged.findLast(([, when]) => when < time)?.[0] ?? 0
    // The first one that was acknowledged later may have been committed before; the next one was begun after that.
    const most = writers.acknowledged.find(([, when]) => when > time)?.[0] ?? Number.POSITIVE_INFINITY
    assert.ok(
      numbers.every((number) => number >= least && number <= most),
      `${numbers}: from ${least} to ${most}`,
    )
    assertOneMoment(numbers)
  }
  const plan = await makePlan(new Catalogue(target, BACKUP_KEY), {})
  assert.ok(
    plan.segments.some(({ level }) => level > 0),
    'the restore reads merged segments',
  )
  await restoreDatabases(target, join(scratch, 'instant'))
  await assertEqual(dataFolder, join(scratch, 'instant'))
})

test('a bucket that is away: writers go on, changes wait, and nothing is lost', async () => {
  s3.objects.clear()
  const dataFolder = await newFolder('outage')
  const writers = startWriters(replicationOptions(dataFolder, s3.url), { env: ENVIRONMENT, count: 1 })
  await writers.logged(BASE)
  s3.answer = () => 'away'
  const before = writers.acknowledged.length
  await until('changes wait', 30_000, () => (readStatus(dataFolder)?.spoolBytes ?? 0) > 0)
  await sleep(1_500)
  assert.ok(writers.acknowledged.length > before + 20)
  const status = readStatus(dataFolder)
  assert.match(status?.error ?? '', /cannot be reached/)
  assert.ok(Date.now() - (status?.behindSince ?? Date.now()) > 1_000)
  await writers.logged('changes wait in the data folder')
  s3.answer = () => undefined
  await writers.logged('takes changes again')
  await shipped(writers, dataFolder)
  const waited = writers.log.filter((line) => line.includes('changes wait in the data folder'))
  assert.equal(waited.length, 1, 'it is said once')
  await writers.stop()
  await restoreDatabases(openS3(), join(scratch, 'after-outage'))
  await assertEqual(dataFolder, join(scratch, 'after-outage'))
})

test('databases that grow faster than a slow bucket takes parts of them: the first base is complete nevertheless', async () => {
  s3.objects.clear()
  s3.delayMs = 400
  const dataFolder = await newFolder('growing')
  const writers = startWriters(replicationOptions(dataFolder, s3.url), { env: ENVIRONMENT, pauseMs: 0 })
  await writers.logged(BASE)
  s3.delayMs = 0
  await writers.stop()
  await restoreDatabases(openS3(), join(scratch, 'after-growing'))
  await assertEqual(dataFolder, join(scratch, 'after-growing'))
})

test('a spool that is full: changes are dropped, and found again by comparing every page', async () => {
  s3.objects.clear()
  const dataFolder = await newFolder('full')
  const options = replicationOptions(dataFolder, s3.url, { spoolBytes: 400_000 })
  const writers = startWriters(options, { env: ENVIRONMENT, count: 1 })
  await writers.logged(BASE)
  s3.answer = (method) => (method === 'PUT' ? 503 : undefined)
  await writers.logged('changes are no longer kept')
  assert.ok((readStatus(dataFolder)?.spoolBytes ?? 0) <= 400_000)
  s3.answer = () => undefined
  await writers.logged('changes are kept for the backup again')
  await shipped(writers, dataFolder)
  await writers.stop()
  await restoreDatabases(openS3(), join(scratch, 'after-full'))
  await assertEqual(dataFolder, join(scratch, 'after-full'))
})

test('a bucket that says yes and keeps nothing has no base, and the status says why', async () => {
  s3.objects.clear()
  const dataFolder = await newFolder('forgetful')
  s3.answer = () => 'forget'
  const writers = startWriters(replicationOptions(dataFolder, s3.url), { env: ENVIRONMENT, count: 1 })
  await writers.logged('no base could be taken')
  await until('the status says so', 30_000, () => /does not keep/.test(readStatus(dataFolder)?.error ?? ''))
  assert.equal(readStatus(dataFolder)?.moment, undefined)
  s3.answer = () => undefined
  await writers.kill()
})

test('credentials that expire amid a base: those that replace them are used, and the base is completed', async () => {
  s3.objects.clear()
  const dataFolder = await newFolder('expiring')
  const file = join(scratch, 'credentials')
  const issue = async (sessionToken: string) => {
    const { accessKeyId, secretAccessKey } = s3.credentials
    s3.credentials = { accessKeyId, secretAccessKey, sessionToken }
    const lines = [`aws_access_key_id=${accessKeyId}`, `aws_secret_access_key=${secretAccessKey}`]
    await writeFile(file, ['[default]', ...lines, `aws_session_token=${sessionToken}`].join('\n'))
  }
  await issue('first')
  let parts = 0
  s3.answer = (method, key) => {
    // Written before the next request is answered, whose credentials are refused.
    if (method === 'PUT' && key.includes('/bases/') && ++parts === 2) void issue('second')
    return undefined
  }
  const env = { AWS_SHARED_CREDENTIALS_FILE: file, AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }
  const writers = startWriters(replicationOptions(dataFolder, s3.url), { env, count: 1 })
  await writers.logged(BASE)
  assert.equal(s3.credentials.sessionToken, 'second')
  assert.ok(!writers.log.some((line) => line.includes('no base could be taken')))
  await shipped(writers, dataFolder)
  await writers.stop()
  const target = new S3Target(parseBucketUrl(s3.url, {}), new CredentialSource({ AWS_SHARED_CREDENTIALS_FILE: file }))
  await restoreDatabases(target, join(scratch, 'after-expiry'))
  await assertEqual(dataFolder, join(scratch, 'after-expiry'))
  target.close()
  const { accessKeyId, secretAccessKey } = s3.credentials
  s3.credentials = { accessKeyId, secretAccessKey }
})

test('two machines with one address: each has generations of its own, and a restore asks which', async () => {
  const folder = join(scratch, 'shared')
  const [one, copy] = [await newFolder('one'), join(scratch, 'copy')]
  const first = startWriters(replicationOptions(one, `file://${folder}`), { count: 1 })
  await first.logged(BASE)
  await first.stop()
  // With what the first one knows of the target.
  await cp(one, copy, { recursive: true })
  const both = [one, copy].map((dataFolder) =>
    startWriters(replicationOptions(dataFolder, `file://${folder}`), { count: 1 }),
  )
  await until('one of them begins another generation', 30_000, () =>
    both.some(({ log }) => log.some((line) => line.includes('another machine has written'))),
  )
  await until('both have bases', 30_000, async () => (await readdir(folder)).length === 2)
  await Promise.all(both.map((writers, index) => shipped(writers, index === 0 ? one : copy)))
  await Promise.all(both.map((writers) => writers.stop()))
  const target = new FolderTarget(folder)
  await assert.rejects(
    makePlan(new Catalogue(target, BACKUP_KEY), {}),
    /Several machines have written to .*--generation/,
  )
  for (const dataFolder of [one, copy]) {
    const generation = readStatus(dataFolder)?.generation ?? ''
    const restored = join(scratch, 'of-two')
    await rm(restored, { recursive: true, force: true })
    await mkdir(restored)
    const catalogue = new Catalogue(target, BACKUP_KEY)
    await writeDatabases(catalogue, await makePlan(catalogue, { generation }), restored)
    await assertEqual(dataFolder, restored)
  }
})

test('another address, or another key, begins another generation', async () => {
  const dataFolder = await newFolder('moved')
  for (const [folder, key] of [
    ['first', 1],
    ['second', 1],
    ['second', 2],
  ] as const) {
    const url = `file://${join(scratch, folder)}`
    const further = { key: Buffer.alloc(32, key).toString('base64') }
    const writers = startWriters(replicationOptions(dataFolder, url, further), { count: 1 })
    await writers.logged(BASE)
    await writers.stop()
  }
  assert.equal((await readdir(join(scratch, 'first'))).length, 1)
  const generations = (await readdir(join(scratch, 'second'))).sort()
  assert.equal(generations.length, 2)
  const [older, newer] = generations
  const plan = (key: number, generation?: string) =>
    makePlan(new Catalogue(new FolderTarget(join(scratch, 'second')), Buffer.alloc(32, key)), { generation })
  assert.equal((await plan(2)).generation, newer, 'the last moment, with the key of now')
  await assert.rejects(plan(1), /sealed with another backup_key.*--generation/)
  assert.equal((await plan(1, older)).generation, older)
  await assert.rejects(plan(2, older), /sealed with another backup_key/)
  await assert.rejects(plan(3), /sealed with another backup_key/)
})

test('a clock that is set back by more than a minute begins another generation, and both can be restored', async () => {
  const [dataFolder, folder] = [await newFolder('clock'), join(scratch, 'clock-target')]
  const options = replicationOptions(dataFolder, `file://${folder}`)
  const writers = startWriters(options, { count: 1 })
  await writers.logged(BASE)
  await writers.stop()
  const state = new Sqlite(join(dataFolder, 'replication', 'state.db'))
  const change = state.prepare("update state set value = json_set(value, '$.time', ?) where key = 'chain'")
  assert.equal(change.run(Date.now() + 3_600_000).changes, 1)
  state.close()
  const after = startWriters(options, { count: 1 })
  await after.logged('the clock was set back')
  await after.logged(BASE)
  await shipped(after, dataFolder)
  await after.stop()
  for (const generation of await readdir(folder)) {
    const catalogue = new Catalogue(new FolderTarget(folder), BACKUP_KEY)
    const restored = await newFolder(`clock-${generation}`)
    await writeDatabases(catalogue, await makePlan(catalogue, { generation }), restored)
    assertOneMoment(readNumbers(restored))
    if (readStatus(dataFolder)?.generation === generation) await assertEqual(dataFolder, restored)
  }
})

test('sums of pages depend on the key and the generation; zeros do not', () => {
  const page = Buffer.alloc(4096, 'x')
  const sums = [
    new PageHash(BACKUP_KEY, 'one'),
    new PageHash(BACKUP_KEY, 'two'),
    new PageHash(Buffer.alloc(32, 1), 'one'),
  ].map((hash) => hash.sum(page).join())
  assert.equal(new Set(sums).size, 3)
  assert.equal(new PageHash(BACKUP_KEY, 'one').sum(page).join(), sums[0])
  assert.deepEqual(new PageHash(BACKUP_KEY, 'one').sum(Buffer.alloc(4096)), [0, 0])
})

test('a folder that cannot be written: the server goes on, and the status says why', {
  skip: process.getuid?.() === 0,
}, async () => {
  const [dataFolder, folder] = [await newFolder('readonly'), await newFolder('readonly-target')]
  await chmod(folder, 0o500)
  const writers = startWriters(replicationOptions(dataFolder, `file://${folder}`), { count: 1 })
  await until('the status says so', 30_000, () => /cannot be written/.test(readStatus(dataFolder)?.error ?? ''))
  await chmod(folder, 0o700)
  await writers.logged(BASE)
  await writers.stop()
})

test('what is too old is deleted, and the rest can be restored', async () => {
  s3.objects.clear()
  const dataFolder = await newFolder('old')
  const timing = { periods: [500, 1_000], ages: [1_000, 2_000], mergeEveryMs: 200, removeEveryMs: 300 } as const
  const options = replicationOptions(dataFolder, s3.url, { fullMs: 1_500, keepMs: 4_000, timing })
  const writers = startWriters(options, { env: ENVIRONMENT, count: 1 })
  await writers.logged(BASE)
  const first = [...s3.objects.keys()].find((key) => key.endsWith('/manifest'))
  await until('the first base is deleted', 60_000, () => first !== undefined && !s3.objects.has(first))
  await shipped(writers, dataFolder)
  await writers.stop()
  const level = (number: number) => [...s3.objects.keys()].filter((key) => key.includes(`/segments/${number}/`)).length
  assert.ok(level(0) < 60 && level(1) < 30 && level(2) < 15, `${[level(0), level(1), level(2)]}`)
  const target = openS3()
  await restoreDatabases(target, join(scratch, 'after-old'))
  await assertEqual(dataFolder, join(scratch, 'after-old'))
  const earlier = await restoreDatabases(target, join(scratch, 'earlier'), Date.now() - 3_500)
  assert.ok(
    readNumbers(join(scratch, 'earlier')).every((number) => number > 0),
    `${earlier}`,
  )
})
