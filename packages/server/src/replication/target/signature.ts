/** AWS Signature Version 4 (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html). */
import { createHash, createHmac } from 'node:crypto'

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

export interface SignedRequest {
  readonly method: string
  readonly host: string
  /** Percent-encoded already. */
  readonly path: string
  readonly query: readonly (readonly [name: string, value: string])[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The headers of the request, with its signature. */
export function signRequest(
  request: SignedRequest,
  { accessKeyId, secretAccessKey, sessionToken }: Credentials,
  { region, now }: { readonly region: string; readonly now: Date },
): Record<string, string> {
  const stamp = now.toISOString().replace(/\.\d+|[-:]/g, '')
  const scope = `${stamp.slice(0, 8)}/${region}/s3/aws4_request`
  const bodyHash = hash(request.body)
  const headers = {
    ...request.headers,
    host: request.host,
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': stamp,
    ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
  }
  const sorted = Object.entries(headers).sort(([one], [other]) => (one < other ? -1 : 1))
  const names = sorted.map(([name]) => name).join(';')
  const canonical = [
    request.method,
    request.path,
    canonicalQuery(request.query),
    ...sorted.map(([name, value]) => `${name}:${value.trim()}`),
    '',
    names,
    bodyHash,
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', stamp, scope, hash(Buffer.from(canonical))].join('\n')
  const key = [stamp.slice(0, 8), region, 's3', 'aws4_request'].reduce<Buffer>(
    (before, part) => createHmac('sha256', before).update(part).digest(),
    Buffer.from(`AWS4${secretAccessKey}`),
  )
  const signature = createHmac('sha256', key).update(text).digest('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  return { ...headers, authorization }
}

/** As it must be in the URL too. */
export function canonicalQuery(query: SignedRequest['query']): string {
  return query
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/** Of a key, whose slashes stay. */
export function encodePath(path: string): string {
  return path.split('/').map(encode).join('/')
}

/** Everything but the unreserved characters of RFC 3986 §2.3. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
