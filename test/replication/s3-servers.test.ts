/** Replication to servers with the API of S3 that others wrote: moto and versitygw. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CredentialSource } from '../../packages/server/src/replication/target/credentials.ts'
import { parseBucketUrl, S3Target } from '../../packages/server/src/replication/target/s3.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import {
  DATABASE_FILES,
  endWriters,
  replicationOptions,
  restoreDatabases,
  startWriters,
} from '../support/replicated-folder.ts'
import { S3_CREDENTIALS, S3_SERVERS } from '../support/s3-servers.ts'
import { until } from '../support/until.ts'

for (const [name, find] of S3_SERVERS) {
  test(`${name}: every commit is stored and restored, segments are merged and deleted`, IN_LONG_RUNS, async (t) => {
    const found = await find()
    if (typeof found === 'string') return t.skip(found)
    const server = await found.start()
    t.after(() => server.close())
    const scratch = await mkdtemp(join(tmpdir(), 'gatehouse-s3-'))
    t.after(() => rm(scratch, { recursive: true, force: true }))
    const dataFolder = join(scratch, 'data')
    await mkdir(dataFolder)
    const timing = { periods: [1_000, 3_000], ages: [2_000, 4_000], mergeEveryMs: 200, removeEveryMs: 300 } as const
    t.after(endWriters)
    const target = new S3Target(parseBucketUrl(server.url, {}), new CredentialSource(S3_CREDENTIALS))
    t.after(() => target.close())
    const options = replicationOptions(dataFolder, server.url, { fullMs: 3_000, keepMs: 6_000, timing })
    const writers = startWriters(options, { env: S3_CREDENTIALS })
    await writers.logged('a base of the backup is stored')
    const [generation = ''] = await target.folders()
    const list = (folder: string) => Array.fromAsync(target.list(`${generation}/${folder}/`))
    const [first = ''] = await list('bases')
    await until('segments are merged by the hour', 60_000, async () => (await list('segments/2')).length > 0)
    await until('the first base is deleted', 60_000, async () => !(await list('bases')).includes(first))
    await writers.stop()
    await restoreDatabases(target, join(scratch, 'restored'))
    for (const file of DATABASE_FILES)
      assert.ok((await readFile(join(dataFolder, file))).equals(await readFile(join(scratch, 'restored', file))), file)
  })

  test(`${name}: a name is stored once, lists have pages, and what is refused is said`, IN_LONG_RUNS, async (t) => {
    const found = await find()
    if (typeof found === 'string') return t.skip(found)
    const server = await found.start()
    t.after(() => server.close())
    const open = (url: string, environment = S3_CREDENTIALS) =>
      new S3Target(parseBucketUrl(url, {}), new CredentialSource(environment))
    const target = open(server.url)
    t.after(() => target.close())
    const { signal } = new AbortController()
    const attempts = Array.from({ length: 8 }, (_, index) => target.put('once', Buffer.from([index]), signal))
    assert.equal((await Promise.all(attempts)).filter((isNew) => isNew).length, 1)
    assert.equal(await target.put('once', Buffer.from('2'), signal), false)
    assert.equal(await target.get('none'), undefined)
    // More than one page of 1000.
    const names = Array.from({ length: 1_100 }, (_, index) => `many/${String(index).padStart(6, '0')}`)
    for (let index = 0; index < names.length; index += 50)
      await Promise.all(names.slice(index, index + 50).map((one) => target.put(one, Buffer.from('x'), signal)))
    assert.deepEqual(await Array.fromAsync(target.list('many/')), names)
    assert.deepEqual(await Array.fromAsync(target.list('many/', names[500])), names.slice(501))
    await target.remove(names)
    assert.deepEqual(await Array.fromAsync(target.list('many/')), [])
    await assert.rejects(
      open(server.url.replace('backups', 'others')).put('x', Buffer.from('x'), signal),
      /NoSuchBucket/,
    )
    // moto does not check signatures.
    if (name !== 'moto')
      await assert.rejects(
        open(server.url, { ...S3_CREDENTIALS, AWS_SECRET_ACCESS_KEY: 'wrong' }).get('once'),
        /SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY/,
      )
  })
}
