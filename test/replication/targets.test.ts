/** Where replicated objects are stored: a folder, and a bucket with the API of S3. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { CredentialSource } from '../../packages/server/src/replication/target/credentials.ts'
import { FolderTarget } from '../../packages/server/src/replication/target/folder.ts'
import { parseBucketUrl, S3Target } from '../../packages/server/src/replication/target/s3.ts'
import { signRequest } from '../../packages/server/src/replication/target/signature.ts'
import { type Target, TargetFailed } from '../../packages/server/src/replication/target/target.ts'
import { type S3Server, startS3 } from '../support/s3-server.ts'

const ENVIRONMENT = { AWS_ACCESS_KEY_ID: 'AKTEST', AWS_SECRET_ACCESS_KEY: 'secret/of+test' }
const signal = new AbortController().signal

let scratch: string
let s3: S3Server
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-targets-'))
  s3 = await startS3()
})
after(async () => {
  await s3.close()
  await rm(scratch, { recursive: true, force: true })
})

function openS3(url = s3.url, environment: Record<string, string> = ENVIRONMENT): S3Target {
  return new S3Target(parseBucketUrl(url, {}), new CredentialSource(environment))
}

/** What every target does. */
function behaves(open: () => Promise<Target>): void {
  test('stores each name once, reads, lists in order, and removes', async () => {
    const target = await open()
    assert.deepEqual(await target.folders(), [])
    assert.equal(await target.get('g1/none'), undefined)
    const names = ['g1/a/1', 'g1/a/2', 'g1/a/3', 'g1/a/4', 'g1/b (c)+d/ü!*', 'g2/x']
    for (const name of names) assert.equal(await target.put(name, Buffer.from(name), signal), true)
    assert.equal(await target.put('g1/a/2', Buffer.from('another'), signal), false)
    for (const name of names) assert.equal((await target.get(name))?.toString(), name)
    const list = async (folder: string, start?: string) => Array.fromAsync(target.list(folder, start))
    assert.deepEqual(await list('g1/a/'), names.slice(0, 4))
    assert.deepEqual(await list('g1/a/', 'g1/a/2'), names.slice(2, 4))
    assert.deepEqual(await list('g3/'), [])
    assert.deepEqual([...(await target.folders())].sort(), ['g1', 'g2'])
    await target.remove(['g1/a/1', 'g1/a/none'])
    assert.equal(await target.get('g1/a/1'), undefined)
    target.close()
  })
}

describe('a folder', () => behaves(async () => new FolderTarget(join(scratch, 'folder'))))
describe('a bucket', () => behaves(async () => openS3()))
for (const conditions of ['refused', 'ignored'] as const)
  describe(`a bucket where conditions are ${conditions}`, () =>
    behaves(async () => {
      s3.objects.clear()
      s3.conditions = conditions
      return openS3()
    }))

test('of two writers at once, one stores the object', async () => {
  s3.conditions = 'known'
  for (const target of [new FolderTarget(join(scratch, 'race')), openS3()]) {
    const attempts = Array.from({ length: 8 }, (_, index) => target.put('race/1', Buffer.from([index]), signal))
    assert.equal((await Promise.all(attempts)).filter((isNew) => isNew).length, 1)
    target.close()
  }
})

test('a bucket that fails is asked again for reads; what it says is passed on for writes', async () => {
  const target = openS3()
  await target.put('g/1', Buffer.from('1'), signal)
  let failures = 2
  s3.answer = () => (failures-- > 0 ? 503 : undefined)
  assert.equal((await target.get('g/1'))?.toString(), '1')
  s3.answer = () => 'away'
  await assert.rejects(target.put('g/2', Buffer.from('2'), signal), /cannot be reached/)
  s3.answer = () => 403
  await assert.rejects(target.put('g/2', Buffer.from('2'), signal), TargetFailed)
  s3.answer = () => undefined
  await assert.rejects(openS3(s3.url.replace('backups', 'others')).get('g/1'), /NoSuchBucket.*create the bucket/)
  const wrong = openS3(s3.url, { ...ENVIRONMENT, AWS_SECRET_ACCESS_KEY: 'wrong' })
  await assert.rejects(wrong.get('g/1'), /SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY/)
  target.close()
})

test('an attempt that hangs is ended by its signal', async () => {
  const target = openS3()
  s3.answer = () => 'hang'
  await assert.rejects(target.put('g/3', Buffer.from('3'), AbortSignal.timeout(50)), { name: 'TimeoutError' })
  s3.answer = () => undefined
  target.close()
})

test('credentials: of a file with profiles, of a container, of an instance, and again when they have expired', async () => {
  const file = join(scratch, 'credentials')
  await writeFile(
    file,
    '[default]\naws_access_key_id = other\naws_secret_access_key = x\n[backup]\naws_access_key_id=AKTEST\naws_secret_access_key = secret/of+test\n',
  )
  const ofFile = openS3(s3.url, { AWS_SHARED_CREDENTIALS_FILE: file, AWS_PROFILE: 'backup' })
  assert.equal(await ofFile.get('g/none'), undefined)

  let session = 'one'
  const endpoint = createServer((request, response) => {
    const { url, method, headers } = request
    const reply = (text: string) => void response.end(text)
    if (method === 'PUT' && url === '/latest/api/token') return reply('token-of-instance')
    const isContainer = url === '/container' && headers.authorization === 'token-of-container'
    const isInstance = headers['x-aws-ec2-metadata-token'] === 'token-of-instance'
    if (isInstance && url === '/latest/meta-data/iam/security-credentials/') return reply('the-role')
    if (!isContainer && !(isInstance && url === '/latest/meta-data/iam/security-credentials/the-role'))
      return void response.writeHead(404).end()
    const Expiration = new Date(Date.now() + 3_600_000).toISOString()
    reply(JSON.stringify({ AccessKeyId: 'AKTEST', SecretAccessKey: 'secret/of+test', Token: session, Expiration }))
  })
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`
  const nowhere = { AWS_SHARED_CREDENTIALS_FILE: join(scratch, 'none') }
  for (const environment of [
    {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${address}/container`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: 'token-of-container',
    },
    { AWS_EC2_METADATA_SERVICE_ENDPOINT: address },
  ]) {
    const target = openS3(s3.url, { ...nowhere, ...environment })
    session = 'one'
    s3.credentials = { ...s3.credentials, sessionToken: 'one' }
    assert.equal(await target.get('g/none'), undefined)
    session = 'two'
    s3.credentials = { ...s3.credentials, sessionToken: 'two' }
    assert.equal(await target.put(`g/${Object.keys(environment)[0]}`, Buffer.from('x'), signal), true)
    target.close()
  }
  endpoint.close()
  s3.credentials = { accessKeyId: 'AKTEST', secretAccessKey: 'secret/of+test' }
  const none = openS3(s3.url, { ...nowhere, AWS_EC2_METADATA_DISABLED: 'true' })
  await assert.rejects(none.put('g/x', Buffer.from('x'), signal), /no credentials.*AWS_ACCESS_KEY_ID/)
})

test('a signature is that of the example of AWS', () => {
  // https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, «GET Bucket (List Objects)».
  const { authorization } = signRequest(
    {
      ...{ method: 'GET', host: 'examplebucket.s3.amazonaws.com', path: '/', body: Buffer.alloc(0), headers: {} },
      query: [
        ['max-keys', '2'],
        ['prefix', 'J'],
      ],
    },
    { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
    { region: 'us-east-1', now: new Date('2013-05-24T00:00:00Z') },
  )
  assert.match(authorization ?? '', /Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7$/)
})
