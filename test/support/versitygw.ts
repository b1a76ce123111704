/** versitygw: a server with the API of S3, written in Go, that checks signatures and keeps objects in a folder. */
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

const run = promisify(execFile)
const VERSION = 'v1.8.0'
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/versitygw/', import.meta.url))

export const VERSITYGW_CREDENTIALS = { AWS_ACCESS_KEY_ID: 'AKTEST', AWS_SECRET_ACCESS_KEY: 'secret/of+test' }
export const BUCKET = 'backups'

export interface Versitygw {
  readonly url: string
  readonly port: number
  /** Each object of the bucket is a file in it. */
  readonly folder: string
  close(): Promise<void>
}

/** The program, built where Go is; a text says what is missing. */
export async function findVersitygw(): Promise<{ program: string } | string> {
  const program = process.env.VERSITYGW ?? join(FOLDER, `versitygw-${VERSION}`)
  try {
    if (existsSync(program)) return { program }
    await mkdir(FOLDER, { recursive: true })
    // In the folder of its module, because `go install` asks for a list of versions, which proxies may refuse.
    const module = await run('go', ['mod', 'download', '-json', `github.com/versity/versitygw@${VERSION}`], {
      cwd: FOLDER,
    })
    const options = { maxBuffer: 2 ** 24, env: { ...process.env, CGO_ENABLED: '0' } }
    await run('go', ['build', '-C', JSON.parse(module.stdout).Dir, '-o', program, './cmd/versitygw'], options)
    return { program }
  } catch (error) {
    return `needs go, and its proxy or cache, for versitygw: ${error instanceof Error ? error.message.slice(0, 200) : error}`
  }
}

/** With a bucket `backups`. */
export async function startVersitygw(
  program: string,
  tls?: { readonly cert: string; readonly key: string },
): Promise<Versitygw> {
  const port = await freePort()
  const root = await mkdtemp(join(tmpdir(), 'gatehouse-versitygw-'))
  const [objects, metadata] = [join(root, 'objects'), join(root, 'metadata')]
  await mkdir(join(objects, BUCKET), { recursive: true })
  await mkdir(metadata)
  const words = [
    ...['--access', VERSITYGW_CREDENTIALS.AWS_ACCESS_KEY_ID, '--secret', VERSITYGW_CREDENTIALS.AWS_SECRET_ACCESS_KEY],
    ...['--port', `127.0.0.1:${port}`, '--quiet', ...(tls ? ['--cert', tls.cert, '--key', tls.key] : [])],
  ]
  // Not every file system of a test has extended attributes.
  const child = spawn(program, [...words, 'posix', '--sidecar', metadata, objects], { stdio: 'ignore' })
  const endpoint = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`
  await until('versitygw answers', 30_000, () => fetch(endpoint).then(() => true, isOtherwiseAnswered))
  return {
    url: `s3://${BUCKET}/gate?endpoint=${encodeURIComponent(endpoint)}&region=us-east-1`,
    port,
    folder: join(objects, BUCKET),
    async close() {
      const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
      child.kill('SIGKILL')
      await closed
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** A certificate that is not believed is an answer too. */
function isOtherwiseAnswered(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && /CERT|SELF_SIGNED/.test(String(cause.code))
}
