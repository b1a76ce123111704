/** A small S3 server for tests, in memory: it checks signatures by itself, knows conditions, and can be told to fail. */
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface S3Server {
  readonly url: string
  readonly objects: Map<string, Buffer>
  /** Of the requests that were answered: `PUT key`. */
  readonly requests: string[]
  /** Answers a request in another way; undefined answers it as usual. Replaced by tests. */
  answer: (method: string, key: string) => 'away' | 'cut' | 'forget' | 'hang' | number | undefined
  /** How long each request waits. Replaced by tests, for a bucket that is far away. */
  delayMs: number
  /** The credentials that are accepted. */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
  /** Servers that do not know `If-None-Match` refuse it with 501, or ignore it. */
  conditions: 'known' | 'refused' | 'ignored'
  /** What a page of a list has. Replaced by tests, for one that lies. */
  listed: (keys: readonly string[]) => readonly string[]
  /** Whether every page says that there is another one. */
  isEndless: boolean
  close(): Promise<void>
}

const BUCKET = 'backups'

export async function startS3(): Promise<S3Server> {
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const s3: S3Server = {
    url: `s3://${BUCKET}/some/prefix?endpoint=${encodeURIComponent(`http://127.0.0.1:${port}`)}&region=eu-test-1`,
    objects: new Map(),
    requests: [],
    answer: () => undefined,
    delayMs: 0,
    credentials: { accessKeyId: 'AKTEST', secretAccessKey: 'secret/of+test' },
    conditions: 'known',
    listed: (keys) => keys,
    isEndless: false,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return s3

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const body = Buffer.concat(pieces)
    const url = new URL(request.url ?? '/', 'http://s3')
    const [, bucket, ...rest] = url.pathname.split('/').map(decodeURIComponent)
    const key = rest.join('/')
    const method = request.method ?? ''
    if (s3.delayMs > 0) await sleep(s3.delayMs)
    const other = s3.answer(method, key)
    if (other === 'hang') return
    if (other === 'away') return void response.destroy()
    if (typeof other === 'number') return reply(response, other, 'SlowDown')
    const refusal = checkSignature(request, url, body, s3.credentials)
    if (refusal !== undefined) return reply(response, 403, refusal)
    if (bucket !== BUCKET) return reply(response, 404, 'NoSuchBucket')
    s3.requests.push(`${method} ${key}`)
    if (method === 'PUT') {
      const isConditional = request.headers['if-none-match'] !== undefined && s3.conditions !== 'ignored'
      if (isConditional && s3.conditions === 'refused') return reply(response, 501, 'NotImplemented')
      if (isConditional && s3.objects.has(key)) return reply(response, 412, 'PreconditionFailed')
      if (other !== 'forget') s3.objects.set(key, body)
      return void response.writeHead(200, { etag: '"x"' }).end()
    }
    if (method === 'DELETE') {
      s3.objects.delete(key)
      return void response.writeHead(204).end()
    }
    if (key === '') return void response.writeHead(200).end(list(s3, url.searchParams))
    const found = s3.objects.get(key)
    if (found === undefined) return reply(response, 404, 'NoSuchKey')
    response.writeHead(200, { 'content-length': found.length })
    if (other === 'cut') return void response.write(found.subarray(0, found.length / 2), () => response.destroy())
    response.end(method === 'HEAD' ? undefined : found)
  }
}

function reply(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`)
}

/** Pages of three, so that every list has several. */
function list({ objects, listed, isEndless }: S3Server, query: URLSearchParams): string {
  const [prefix, delimiter] = [query.get('prefix') ?? '', query.get('delimiter')]
  const start = query.get('continuation-token') ?? query.get('start-after') ?? ''
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > start).sort()
  if (delimiter !== null) {
    const folders = keys.map((key) => key.slice(0, key.indexOf(delimiter, prefix.length) + 1))
    const entries = [...new Set(folders)].filter((folder) => folder !== '')
    return `<ListBucketResult><IsTruncated>false</IsTruncated>${entries
      .map((folder) => `<CommonPrefixes><Prefix>${folder}</Prefix></CommonPrefixes>`)
      .join('')}</ListBucketResult>`
  }
  const page = keys.slice(0, 3)
  const isTruncated = isEndless || keys.length > page.length
  const token = isEndless ? `${start}~` : page.at(-1)
  const next = isTruncated ? `<NextContinuationToken>${token}</NextContinuationToken>` : ''
  const contents = listed(page).map(
    (key) =>
      `<Contents><Key>${key}</Key><LastModified>2026-11-19T00:00:00.000Z</LastModified><Size>${objects.get(key)?.length}</Size></Contents>`,
  )
  return `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`
}

/** As the documentation of AWS describes it, from what has arrived. Undefined if it is good. */
function checkSignature(
  request: IncomingMessage,
  url: URL,
  body: Buffer,
  { accessKeyId, secretAccessKey, sessionToken }: S3Server['credentials'],
): string | undefined {
  const { headers, method } = request
  const [, credential = '', signed = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/.exec(headers.authorization ?? '') ??
    []
  const [key, day = '', region = '', service = '', end = ''] = credential.split('/')
  if (key !== accessKeyId) return 'InvalidAccessKeyId'
  if (sessionToken !== undefined && headers['x-amz-security-token'] !== sessionToken) return 'ExpiredToken'
  const sha256 = (content: Buffer | string) => createHash('sha256').update(content).digest('hex')
  if (headers['x-amz-content-sha256'] !== sha256(body)) return 'XAmzContentSHA256Mismatch'
  const query = [...url.searchParams]
    .map((pair) => pair.map((part) => encodeURIComponent(part).replace(/[!'()*]/g, escapeByte)).join('='))
    .sort()
    .join('&')
  const names = signed.split(';')
  const canonical = [
    ...[method, url.pathname, query],
    ...names.map((name) => `${name}:${String(headers[name])}`),
    ...['', signed, headers['x-amz-content-sha256']],
  ].join('\n')
  const scope = [day, region, service, end].join('/')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const hmac = (secret: Buffer | string, content: string) => createHmac('sha256', secret).update(content).digest()
  const secret = hmac(hmac(hmac(hmac(`AWS4${secretAccessKey}`, day), region), service), end)
  if (region !== 'eu-test-1' || service !== 's3') return 'AuthorizationHeaderMalformed'
  return hmac(secret, text).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch'
}

function escapeByte(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
}
