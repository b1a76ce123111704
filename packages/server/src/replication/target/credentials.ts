/** Where the credentials of a bucket come from, as with the tools of AWS: variables, a file, the endpoint of a container, that of an instance. */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Credentials } from './signature.ts'
import { TargetFailed } from './target.ts'

interface Found extends Credentials {
  /** In milliseconds; undefined if they do not expire. */
  readonly expires?: number | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** They are replaced some time before they expire. */
const RENEW_MS = 5 * 60_000
const ENDPOINT_MS = 2_000
const CONTAINER = 'http://169.254.170.2'
const INSTANCE = 'http://169.254.169.254'

export class CredentialSource {
  readonly #environment: Environment
  #found: Found | undefined
  #finding: Promise<Found> | undefined

  constructor(environment: Environment = process.env) {
    this.#environment = environment
  }

  async current(): Promise<Credentials> {
    const { expires } = this.#found ?? {}
    if (this.#found !== undefined && (expires === undefined || Date.now() < expires - RENEW_MS)) return this.#found
    this.#finding ??= findCredentials(this.#environment).finally(() => {
      this.#finding = undefined
    })
    try {
      this.#found = await this.#finding
    } catch (error) {
      // Those that are about to expire are still good.
      if (this.#found === undefined || expires === undefined || Date.now() >= expires) throw error
    }
    return this.#found
  }

  /** The bucket refused them. */
  refused(): void {
    this.#found = undefined
  }
}

async function findCredentials(environment: Environment): Promise<Found> {
  return (
    fromVariables(environment) ??
    (await fromFile(environment)) ??
    (await fromContainer(environment)) ??
    (await fromInstance(environment)) ??
    fail()
  )
}

function fail(): never {
  throw new TargetFailed(
    'There are no credentials for the bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE',
  )
}

function fromVariables(environment: Environment): Found | undefined {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment
  if (!accessKeyId || !secretAccessKey) return undefined
  return { accessKeyId, secretAccessKey, sessionToken: environment.AWS_SESSION_TOKEN || undefined }
}

/** Read again each time that they are needed: a program may replace the file before they expire. */
async function fromFile(environment: Environment): Promise<Found | undefined> {
  const path = environment.AWS_SHARED_CREDENTIALS_FILE || join(homedir(), '.aws', 'credentials')
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const profile = environment.AWS_PROFILE || 'default'
  const values = new Map<string, string>()
  let section = ''
  for (const line of text.split('\n')) {
    const [, name] = /^\s*\[([^\]]+)\]/.exec(line) ?? []
    if (name !== undefined) section = name.trim()
    const [, key, value] = /^\s*(\w+)\s*=\s*(\S+)\s*$/.exec(line) ?? []
    if (section === profile && key !== undefined && value !== undefined) values.set(key, value)
  }
  const [accessKeyId, secretAccessKey] = [values.get('aws_access_key_id'), values.get('aws_secret_access_key')]
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  return {
    accessKeyId,
    secretAccessKey,
    sessionToken: values.get('aws_session_token'),
    expires: Date.now() + 2 * RENEW_MS,
  }
}

/** ECS, and pods of EKS. */
async function fromContainer(environment: Environment): Promise<Found | undefined> {
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative, AWS_CONTAINER_CREDENTIALS_FULL_URI: full } = environment
  const url = relative ? `${CONTAINER}${relative}` : full
  if (!url) return undefined
  const file = environment.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
  const token = file ? (await readFile(file, 'utf8')).trim() : environment.AWS_CONTAINER_AUTHORIZATION_TOKEN
  return readReply(await ask(url, token ? { headers: { authorization: token } } : {}))
}

/** Version 2 of the metadata service, which wants a token. */
async function fromInstance(environment: Environment): Promise<Found | undefined> {
  if (environment.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') return undefined
  const base = `${(environment.AWS_EC2_METADATA_SERVICE_ENDPOINT || INSTANCE).replace(/\/$/, '')}/latest`
  try {
    const request = { method: 'PUT', headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '300' } }
    const headers = { 'x-aws-ec2-metadata-token': await ask(`${base}/api/token`, request) }
    const roles = `${base}/meta-data/iam/security-credentials/`
    const [role = ''] = (await ask(roles, { headers })).split('\n')
    return readReply(await ask(`${roles}${role.trim()}`, { headers }))
  } catch {
    return undefined
  }
}

async function ask(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(ENDPOINT_MS), redirect: 'error' })
  if (!response.ok) throw new TargetFailed(`${new URL(url).host} gives no credentials (status ${response.status})`)
  return response.text()
}

function readReply(text: string): Found {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = JSON.parse(text)
  if (typeof AccessKeyId !== 'string' || typeof SecretAccessKey !== 'string')
    throw new TargetFailed('The endpoint of the credentials gives none')
  const expires = Date.parse(String(Expiration))
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: typeof Token === 'string' ? Token : undefined,
    expires: Number.isNaN(expires) ? undefined : expires,
  }
}
