/** A restore from a bucket that lies: either all of a moment is brought back, or it is refused and nothing is left. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { restoreMoment } from '../../packages/server/src/replication/restore/restore.ts'
import { CredentialSource } from '../../packages/server/src/replication/target/credentials.ts'
import { parseBucketUrl, S3Target } from '../../packages/server/src/replication/target/s3.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { type S3Server, startS3 } from '../support/s3-server.ts'
import { STORED_KEY, storeBackup } from '../support/stored-backup.ts'

const ENVIRONMENT = { AWS_ACCESS_KEY_ID: 'AKTEST', AWS_SECRET_ACCESS_KEY: 'secret/of+test' }
const PREFIX = 'some/prefix/'

let scratch: string
let s3: S3Server
let stored: ReadonlyMap<string, Buffer>
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-hostile-'))
  const { source } = await storeBackup(scratch)
  s3 = await startS3()
  for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    s3.objects.set(PREFIX + path.slice(source.length + 1), await readFile(path))
  }
  stored = new Map(s3.objects)
})
afterEach(() => {
  s3.objects.clear()
  for (const [key, content] of stored) s3.objects.set(key, content)
  s3.listed = (keys) => keys
  s3.isEndless = false
  s3.answer = () => undefined
})
after(async () => {
  await s3.close()
  await rm(scratch, { recursive: true, force: true })
})

let count = 0
async function restore(): Promise<string> {
  const target = new S3Target(parseBucketUrl(s3.url, {}), new CredentialSource(ENVIRONMENT))
  const dataFolder = join(scratch, `restored-${++count}`)
  try {
    await restoreMoment({ target, key: STORED_KEY, dataFolder })
  } finally {
    target.close()
  }
  return dataFolder
}

async function refuses(message: RegExp): Promise<void> {
  await assert.rejects(restore(), message)
  assert.deepEqual(await readdir(join(scratch, `restored-${count}`)).catch(() => []), [])
}

const segmentKeys = (): readonly string[] => [...stored.keys()].filter((key) => key.includes('/segments/0/')).sort()

describe('a bucket', () => {
  test('that does not list a segment that it has', async () => {
    const hidden = segmentKeys().at(-2)
    s3.listed = (keys) => keys.filter((key) => key !== hidden)
    await refuses(/The segment \d+ is missing/)
  })

  test('that does not list the manifest of the base', async () => {
    s3.listed = (keys) => keys.filter((key) => !key.endsWith('/manifest'))
    await refuses(/No base is complete/)
  })

  test('that lists names twice, in another order, and names of something else: what is there is restored', async () => {
    s3.listed = (keys) => [...keys, ...keys, 'elsewhere/x', `${PREFIX}x`, '../../etc/passwd'].reverse()
    assert.ok((await readdir(await restore())).includes('gatehouse.json'))
  })

  test('that lists segments and bases that it has not', async () => {
    const [last = ''] = segmentKeys().slice(-1)
    const next = last.replace(/\d{12}$/, (number) => String(Number(number) + 1).padStart(12, '0'))
    s3.listed = (keys) => (keys.includes(last) ? [...keys, next] : keys)
    await refuses(/is missing from s3:/)
    s3.listed = (keys) =>
      keys.flatMap((key) => (key.endsWith('/manifest') ? [key, key.replace(/\d{13}/, '9999999999999')] : [key]))
    await refuses(/is missing from s3:/)
  })

  test('that lists objects of another generation as those of this one', async () => {
    s3.listed = (keys) => keys.map((key) => key.replace(/[^/]+(?=\/bases\/|\/segments\/)/, '20260101T000000Z-abcdefgh'))
    await refuses(/is missing from s3:|No base is complete/)
  })

  test('that says the same page again and again', async () => {
    s3.isEndless = true
    await refuses(/lists the same objects again/)
  })

  test('that never ends a list', IN_LONG_RUNS, async () => {
    s3.isEndless = true
    let pages = 0
    s3.listed = () => [`${PREFIX}${++pages}`]
    await refuses(/lists more objects than a backup has/)
  })

  test('that sends more than any object has', async () => {
    const [key = ''] = segmentKeys().slice(-1)
    s3.objects.set(key, Buffer.alloc(65 * 2 ** 20))
    await refuses(/is larger than any object of a backup/)
  })

  test('that cuts off its replies', async () => {
    const [key = ''] = segmentKeys().slice(-1)
    s3.answer = (method, asked) => (method === 'GET' && asked === key ? 'cut' : undefined)
    await refuses(/cannot be reached/)
  })

  test('that says 200 and has nothing, and one that says 404', async () => {
    const [key = ''] = segmentKeys().slice(-1)
    s3.objects.set(key, Buffer.alloc(0))
    await refuses(/is not an object of a backup, or it is cut off/)
    s3.answer = (method, asked) => (method === 'GET' && asked === key ? 404 : undefined)
    await refuses(/is missing from s3:/)
  })
})
